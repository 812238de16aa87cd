#pragma once
// For tests of passes: random valid graphs of a few ops over small f32 tensors; interpret.h computes them.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Makes graphs full of equal nodes, no-op views, copies, constants, random draws and dead code, over
/// matrices of size [2, 3] or, with symbols, [s0, s1] too.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed, bool has_symbols = false) : random_(seed) {
    if (!has_symbols) return;
    graph_.symbols = {{{1, std::numeric_limits<int64_t>::max()}, 2}, {{1, 6}, 3}};
    sizes_ = {ir::Dim::symbol(0), ir::Dim::symbol(1)};
  }

  ir::Graph make(int nodes) {
    graph_.stage = below(3) == 0 ? ir::Stage::Joint : ir::Stage::Functional;
    for (int i = 0; i < 2; ++i) add(graph_.add_input(contiguous(sizes_), ir::InputRole::UserInput));
    if (joint()) add(graph_.add_input(contiguous(sizes_), ir::InputRole::Tangent));
    for (int i = 0; i < nodes; ++i) add_node();
    for (int i = 0, count = 1 + below(5); i < count; ++i) add_output();
    return std::move(graph_);
  }

 private:
  using Sizes = std::vector<ir::Dim>;
  static ir::TensorType contiguous(Sizes sizes) {
    return ir::contiguous_tensor(ir::DType::F32, std::move(sizes));
  }
  /// Whether a row may be sliced off: a constant size stays positive, and a symbol is at least 1.
  static bool may_lose_a_row(const ir::TensorType& type) {
    const auto& rows = type.sizes[0];
    return rows.is_constant() ? rows.constant() > 1 : rows.as_symbol().has_value();
  }
  bool joint() const { return graph_.stage == ir::Stage::Joint; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  void add(ir::ValueId id) { values_.push_back(id); }
  /// Prefers recent values, so that graphs become deep.
  ir::ValueId pick() {
    const auto count = static_cast<int>(values_.size());
    const auto back = below(3) == 0 ? below(count) : below(std::min(count, 5));
    return values_[static_cast<size_t>(count - 1 - back)];
  }

  ir::Node& call(std::string op, std::vector<ir::Arg> args, ir::TensorType type, ir::ValueId base = {}) {
    ir::Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    node.outputs = {graph_.add_value(std::move(type), base)};
    add(node.outputs.front());
    return graph_.add_node(std::move(node));
  }

  void add_node() {
    switch (below(4)) {
      case 0:
        return add_view();
      case 1:
        return add_copy();
      case 2:
        return add_source();
      default:
        return add_arithmetic();
    }
  }

  void add_view() {
    const auto a = pick();
    auto type = graph_.tensor_type(a);
    const auto base = graph_.storage_of(a);
    const bool matrix = type.sizes.size() == 2;
    switch (below(5)) {
      case 0:
        call("aten.alias", {a}, type, base);
        return;
      case 1:
        call("aten.slice.Tensor", {a, 0, 0, int64_t{1} << 40}, type, base);
        return;
      case 2:
        if (!may_lose_a_row(type)) return;
        type.offset = type.offset + type.strides[0];
        type.sizes[0] = type.sizes[0] - 1;
        call("aten.slice.Tensor", {a, 0, 1, int64_t{1} << 40}, type, base);
        return;
      case 3:
        if (!matrix) return;
        std::swap(type.sizes[0], type.sizes[1]);
        std::swap(type.strides[0], type.strides[1]);
        call("aten.t", {a}, type, base);
        return;
      default: {
        if (!type.is_contiguous()) return;
        auto flat = contiguous({type.numel()});
        flat.offset = type.offset;
        call("aten.view", {a, ir::Arg::List{type.numel()}}, flat, base);
      }
    }
  }

  void add_copy() {
    const auto a = pick();
    auto type = graph_.tensor_type(a);
    const bool keeps = type.is_contiguous() || below(2) == 0;
    type.offset = 0;
    if (!keeps) type.strides = ir::contiguous_strides(type.sizes);
    if (below(2) == 0) {
      call("aten.clone", {a}, type);
    } else {
      call("aten._to_copy", {a}, type).attrs.push_back({"dtype", ir::DType::F32});
    }
  }

  void add_source() {
    switch (below(4)) {
      case 0:
        call("aten.full", {ir::Arg::List(sizes_.begin(), sizes_.end()), static_cast<double>(below(2))},
             contiguous(sizes_));
        return;
      case 1: {
        std::vector<uint8_t> data(24, static_cast<uint8_t>(64 + below(2)));
        auto bytes = ir::Bytes(std::make_shared<const std::vector<uint8_t>>(std::move(data)));
        call("antegrad.constant", {}, contiguous({2, 3})).attrs.push_back({"data", std::move(bytes)});
        return;
      }
      case 2:
        call("aten.rand_like", {pick()}, contiguous(sizes_)).effects.random = true;
        return;
      default: {
        const auto a = pick();
        auto& node = call("custom.increment_", {a}, contiguous(graph_.tensor_type(a).sizes));
        node.effects.writes = {a};
        node.functional = true;
      }
    }
  }

  void add_arithmetic() {
    const auto a = pick(), b = pick();
    const auto type = contiguous(graph_.tensor_type(a).sizes);
    // The op writes to a copy of its first argument while it reads the second, so the two must not be merged.
    if (below(6) == 0 && a != b && type.sizes == graph_.tensor_type(b).sizes) {
      auto& node = call("custom.accumulate_", {a, b}, type);
      node.effects.writes = {a};
      node.functional = true;
      return;
    }
    const bool same_sizes = type.sizes == graph_.tensor_type(b).sizes;
    switch (below(3)) {
      case 0:
        call("aten.neg", {a}, type);
        return;
      case 1:
        call("aten.mul.Scalar", {a, static_cast<double>(1 + below(2))}, type);
        return;
      default:
        if (same_sizes) call("aten.add.Tensor", {a, b}, type);
    }
  }

  void add_output() {
    const auto id = pick();
    const auto choice = below(6);
    if (choice == 0)
      graph_.outputs.push_back({id, ir::OutputRole::MutatedInput, "", 0});
    else if (choice == 1)
      graph_.outputs.push_back({id, ir::OutputRole::IntermediateBase, "", -1});
    else if (choice == 2 && joint())
      graph_.outputs.push_back({id, ir::OutputRole::Grad, "", 0});
    else
      graph_.outputs.push_back({id, ir::OutputRole::UserOutput, "", -1});
  }

  std::mt19937 random_;
  Sizes sizes_ = {2, 3};
  ir::Graph graph_;
  std::vector<ir::ValueId> values_;
};

inline ir::Graph random_program(uint32_t seed, int nodes) { return RandomProgram(seed).make(nodes); }
inline ir::Graph random_symbolic_program(uint32_t seed, int nodes) {
  return RandomProgram(seed, true).make(nodes);
}

}  // namespace antegrad::passes
