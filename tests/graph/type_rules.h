#pragma once
// For tests of passes: checks that the types in a graph of constant sizes follow LibTorch's rules. Knows
// views, pointwise ops, reductions and whatever else the passes emit; other nodes are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/ops.h"
#include "ir/text.h"

namespace antegrad::passes {

class TypeRules {
 public:
  using Sizes = std::vector<int64_t>;
  explicit TypeRules(const ir::Graph& graph) : graph_(graph) {}

  /// Returns the number of nodes that a rule applied to.
  int check() {
    int known = 0;
    for (const auto& node : graph_.nodes) {
      if (node.outputs.size() != 1 || !node.effects.none()) continue;
      SCOPED_TRACE(ir::print(graph_, node));
      const auto expected = sizes_of(node);
      if (!expected) continue;
      ++known;
      EXPECT_EQ(constants(type(node.outputs[0]).sizes), *expected);
      if (is_view(node)) check_view(node);
    }
    return known;
  }

 private:
  static Sizes constants(const std::vector<ir::Dim>& dims) {
    Sizes out;
    for (const auto& dim : dims) out.push_back(dim.constant());
    return out;
  }
  const ir::TensorType& type(ir::ValueId id) const { return graph_.tensor_type(id); }
  Sizes sizes(const ir::Arg& arg) const { return constants(type(*arg.as<ir::ValueId>()).sizes); }
  static int64_t integer(const ir::Arg& arg) { return arg.as<ir::Dim>()->constant(); }
  static Sizes integers(const ir::Arg& arg) {
    Sizes out;
    for (const auto& element : *arg.as<ir::Arg::List>()) out.push_back(integer(element));
    return out;
  }
  static size_t wrapped(int64_t dim, size_t rank) {
    return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
  }
  static bool is_view(const ir::Node& node) {
    const auto* info = ir::find_op(node.op);
    return info != nullptr && info->kind == ir::OpKind::View;
  }

  std::optional<Sizes> sizes_of(const ir::Node& node) const {
    const auto& op = node.op;
    const auto* info = ir::find_op(op);
    if (op == "aten.arange") return Sizes{integer(node.args[0])};
    if (op == "aten.full") return integers(node.args[0]);
    if (op == "aten.view" || op == "aten.expand") return integers(node.args[1]);
    if (op == "aten.gather") return sizes(node.args[2]);
    if (op == "aten.cat") return joined(node);
    if (op == "aten.constant_pad_nd") return padded(node);
    if (op == "aten.unsqueeze" || op == "aten.squeeze.dims" || op == "aten.permute" || op == "aten.t" ||
        op == "aten.slice.Tensor")
      return viewed(node);
    if (op == "aten.sum.dim_IntList" || op == "aten.amax" || op == "aten.amin" || op == "aten.any.dims" ||
        op == "aten.all.dims")
      return reduced(node);
    const bool is_random = op.starts_with("antegrad.random_");  // pointwise in its parameters
    if (info != nullptr && info->kind == ir::OpKind::Pointwise && !is_random) return broadcast(node);
    return std::nullopt;
  }

  Sizes broadcast(const ir::Node& node) const {
    Sizes all;
    for (const auto& arg : node.args) {
      if (arg.as<ir::ValueId>() == nullptr) continue;
      const auto own = sizes(arg);
      if (own.size() > all.size()) all.insert(all.begin(), own.size() - all.size(), 1);
      for (size_t i = 0; i < own.size(); ++i) {
        auto& size = all[all.size() - own.size() + i];
        EXPECT_TRUE(size == own[i] || size == 1 || own[i] == 1) << size << " and " << own[i];
        if (size == 1) size = own[i];
      }
    }
    return all;
  }

  Sizes reduced(const ir::Node& node) const {
    const auto own = sizes(node.args[0]);
    const auto dims = integers(node.args[1]);
    const bool keeps = node.args.size() > 2 && *node.args[2].as<bool>();
    Sizes out;
    for (size_t d = 0; d < own.size(); ++d) {
      const bool goes = std::ranges::any_of(dims, [&](int64_t dim) { return wrapped(dim, own.size()) == d; });
      EXPECT_FALSE(goes && own[d] == 0 && node.op.starts_with("aten.am"));
      if (!goes || keeps) out.push_back(goes ? 1 : own[d]);
    }
    return out;
  }

  Sizes joined(const ir::Node& node) const {
    Sizes out;
    for (const auto& part : *node.args[0].as<ir::Arg::List>()) {
      const auto own = sizes(part);
      const auto dim = wrapped(node.args.size() > 1 ? integer(node.args[1]) : 0, own.size());
      if (out.empty())
        out = own;
      else
        out[dim] += own[dim];
    }
    return out;
  }

  Sizes padded(const ir::Node& node) const {
    auto out = sizes(node.args[0]);
    const auto amounts = integers(node.args[1]);
    for (size_t i = 0; i < amounts.size(); ++i) out[out.size() - 1 - i / 2] += amounts[i];
    return out;
  }

  Sizes viewed(const ir::Node& node) const {
    auto out = sizes(node.args[0]);
    if (node.op == "aten.unsqueeze") out.insert(out.begin() + integer(node.args[1]), 1);
    if (node.op == "aten.t") std::ranges::reverse(out);
    if (node.op == "aten.squeeze.dims") {
      auto dims = integers(node.args[1]);
      std::ranges::sort(dims, std::ranges::greater());
      for (const auto dim : dims) out.erase(out.begin() + dim);
    }
    if (node.op == "aten.permute") {
      const auto before = out;
      const auto order = integers(node.args[1]);
      for (size_t i = 0; i < order.size(); ++i) out[i] = before[wrapped(order[i], order.size())];
    }
    if (node.op == "aten.slice.Tensor") {
      auto& size = out[wrapped(integer(node.args[1]), out.size())];
      const auto start = std::min(integer(node.args[2]), size);
      size = std::max<int64_t>(0, std::min(integer(node.args[3]), size) - start);
    }
    return out;
  }

  /// Checks that a view covers only elements of its base; the reshaping views cover all of them in the same
  /// order.
  void check_view(const ir::Node& node) const {
    const auto& from = type(*node.args[0].as<ir::ValueId>());
    const auto& to = type(node.outputs[0]);
    if (to.numel().is(0)) return;
    EXPECT_EQ(graph_.storage_of(node.outputs[0]), graph_.storage_of(*node.args[0].as<ir::ValueId>()));
    auto before = places(from), after = places(to);
    if (node.op == "aten.view" || node.op == "aten.unsqueeze" || node.op == "aten.squeeze.dims") {
      EXPECT_EQ(before, after);
      return;
    }
    for (auto* list : {&before, &after}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    EXPECT_TRUE(std::ranges::includes(before, after));
  }

  /// Returns the positions of all elements in their storage, in row-major order.
  static Sizes places(const ir::TensorType& type) {
    Sizes out = {type.offset.constant()};
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      Sizes next;
      for (const auto place : out)
        for (int64_t i = 0; i < type.sizes[d].constant(); ++i)
          next.push_back(place + i * type.strides[d].constant());
      out = std::move(next);
    }
    return out;
  }

  const ir::Graph& graph_;
};

inline int check_types(const ir::Graph& graph) { return TypeRules(graph).check(); }

}  // namespace antegrad::passes
