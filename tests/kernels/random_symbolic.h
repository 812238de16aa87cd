#pragma once
// Random graphs with symbolic sizes, of ops that all become kernels.
#include <algorithm>
#include <random>

#include "ir/graph.h"
#include "ir/layout.h"

namespace antegrad::schedule {

class RandomSymbolic {
 public:
  explicit RandomSymbolic(uint64_t seed) : random_(seed) {}

  ir::Graph make() {
    graph_.stage = ir::Stage::Functional;
    static constexpr int64_t kHints[] = {1, 2, 8, 60, 300, 5000};
    for (int i = 0; i < 2; ++i)
      graph_.symbols.push_back({{1, below(3) == 0 ? 200 : kNoLimit}, kHints[below(6)]});
    for (int i = 0; i < 2; ++i) {
      std::vector<ir::Dim> sizes;
      for (int64_t d = 1 + below(3); d > 0; --d) sizes.push_back(size());
      values_.push_back(input(sizes));
    }
    for (int64_t count = 4 + below(14); count > 0; --count) add_op();
    add_outputs();
    return graph_;
  }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }
  ir::Dim size() {
    const auto s0 = ir::Dim::symbol(0), s1 = ir::Dim::symbol(1);
    static const std::vector<ir::Dim> kSizes{s0,     s0, s0, s1, s1, s1, s0 * 4, s1 + 1, floor_div(s0 + 1, 2),
                                             s1 - 1, 1,  3,  4,  8,  40};
    return one_of(kSizes);
  }
  static bool may_be_empty(const ir::Dim& size) {
    return size.bounds([](int32_t) { return ir::Range{1, kNoLimit}; }).lower < 1;
  }
  ir::ValueId input(const std::vector<ir::Dim>& sizes, ir::DType dtype = ir::DType::F32,
                    std::string name = {}) {
    return graph_.add_input(ir::contiguous_tensor(dtype, sizes), ir::InputRole::UserInput, std::move(name));
  }
  const ir::TensorType& type(ir::ValueId id) const { return graph_.tensor_type(id); }
  /// Prefers recent values.
  ir::ValueId pick() {
    const auto count = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(below(2) == 0 ? std::max<int64_t>(0, count - 1 - below(3))
                                                     : below(count))];
  }
  static ir::Arg::List ints(const std::vector<ir::Dim>& dims) { return {dims.begin(), dims.end()}; }
  ir::Dim at(size_t d) const { return static_cast<int64_t>(d); }

  ir::ValueId node(std::string op, std::vector<ir::Arg> args, ir::TensorType result, ir::ValueId base = {}) {
    ir::Node out;
    out.op = std::move(op);
    out.args = std::move(args);
    out.outputs = {graph_.add_value(std::move(result), base)};
    graph_.nodes.push_back(out);
    values_.push_back(out.outputs[0]);
    return out.outputs[0];
  }
  ir::ValueId view(std::string op, std::vector<ir::Arg> args, ir::TensorType result, ir::ValueId of) {
    return node(std::move(op), std::move(args), std::move(result), graph_.storage_of(of));
  }
  /// Returns a dense type, mostly row-major, sometimes with the strides of the other tensor.
  ir::TensorType result_like(ir::ValueId id) {
    auto out = ir::contiguous_tensor(ir::DType::F32, type(id).sizes);
    if (below(2) == 0 && ir::is_dense(type(id))) out.strides = type(id).strides;
    return out;
  }

  void add_op() {
    const auto x = pick();
    switch (below(14)) {
      case 0:
      case 1:
        return unary(x);
      case 2:
      case 3:
      case 4:
        return binary(x);
      case 5:
        return by_number(x);
      case 6:
      case 7:
      case 8:
        return reduction(x);
      case 9:
        return permutation(x);
      case 10:
        return reshape(x);
      case 11:
        return below(2) == 0 ? slice(x) : expansion(x);
      case 12:
        return parts(x);
      default:
        return indexing(x);
    }
  }

  void unary(ir::ValueId x) {
    static const std::vector<std::string> kOps{"aten.tanh", "aten.neg", "aten.abs", "aten.sigmoid",
                                               "aten.clone"};
    node(one_of(kOps), {x}, result_like(x));
  }

  void binary(ir::ValueId x) {
    static const std::vector<std::string> kOps{"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                               "aten.maximum"};
    ir::ValueId y;
    for (auto other : values_)
      if (other != x && type(other).sizes == type(x).sizes && below(2) == 0) y = other;
    if (!y.valid()) {
      auto sizes = type(x).sizes;
      for (auto& one : sizes)
        if (below(4) == 0) one = 1;
      if (!sizes.empty() && below(4) == 0) sizes.erase(sizes.begin());
      y = input(sizes);
    }
    node(one_of(kOps), {x, y}, result_like(x));
  }

  void by_number(ir::ValueId x) {
    const auto s0 = ir::Dim::symbol(0), s1 = ir::Dim::symbol(1);
    const auto form = static_cast<ir::Real::Form>(below(4));
    const std::vector<ir::Arg> kNumbers{ir::Arg(s0), ir::Arg(ir::Real{form, 0.7, s1}),
                                        ir::Arg(ir::Real{form, 1, s0 * s1}), ir::Arg(0.25)};
    node(below(2) == 0 ? "aten.div.Scalar" : "aten.add.Scalar", {x, one_of(kNumbers)}, result_like(x));
  }

  void reduction(ir::ValueId x) {
    const auto& sizes = type(x).sizes;
    if (sizes.empty()) return;
    ir::Arg::List dims;
    std::vector<ir::Dim> kept;
    const bool keeps = below(2) == 0;
    const auto must = static_cast<size_t>(below(static_cast<int64_t>(sizes.size())));
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d == must || below(3) == 0) {
        dims.emplace_back(at(d));
        if (keeps) kept.emplace_back(1);
      } else {
        kept.push_back(sizes[d]);
      }
    }
    bool shrinks = false;
    for (const auto& dim : dims)
      shrinks = shrinks || !sizes[static_cast<size_t>(dim.as<ir::Dim>()->constant())].is(1);
    if (!shrinks) return;
    static const std::vector<std::string> kOps{"aten.sum.dim_IntList", "aten.sum.dim_IntList", "aten.amax",
                                               "aten.amin"};
    const auto result = node(one_of(kOps), {x, dims, keeps}, ir::contiguous_tensor(ir::DType::F32, kept));
    if (keeps && below(2) == 0) node("aten.sub.Tensor", {x, result}, result_like(x));
  }

  void permutation(ir::ValueId x) {
    auto result = type(x);
    std::vector<ir::Dim> order;
    for (size_t d = 0; d < result.sizes.size(); ++d) order.push_back(at(d));
    std::shuffle(order.begin(), order.end(), random_);
    for (size_t d = 0; d < order.size(); ++d) {
      result.sizes[d] = type(x).sizes[static_cast<size_t>(order[d].constant())];
      result.strides[d] = type(x).strides[static_cast<size_t>(order[d].constant())];
    }
    view("aten.permute", {x, ints(order)}, result, x);
  }

  void reshape(ir::ValueId x) {
    if (!type(x).is_contiguous()) return unary(x);
    auto sizes = type(x).sizes;
    const auto rank = static_cast<int64_t>(sizes.size());
    const auto d = rank == 0 ? 0 : below(rank);
    if (rank > 1 && d + 1 < rank && below(2) == 0) {
      sizes[static_cast<size_t>(d)] = sizes[static_cast<size_t>(d)] * sizes[static_cast<size_t>(d) + 1];
      sizes.erase(sizes.begin() + d + 1);
    } else if (rank > 0 && mod(sizes[static_cast<size_t>(d)], 4).is(0)) {
      const auto rest = floor_div(sizes[static_cast<size_t>(d)], 4);
      sizes[static_cast<size_t>(d)] = below(2) == 0 ? rest : ir::Dim(4);
      sizes.insert(sizes.begin() + d + 1, sizes[static_cast<size_t>(d)].is(4) ? rest : ir::Dim(4));
    } else {
      sizes.insert(sizes.begin() + d, ir::Dim(1));
    }
    if (sizes.size() > 4) return;
    auto result = ir::contiguous_tensor(ir::DType::F32, sizes);
    result.offset = type(x).offset;
    view("aten.view", {x, ints(sizes)}, result, x);
  }

  void expansion(ir::ValueId x) {
    auto result = type(x);
    bool found = false;
    for (size_t d = 0; d < result.sizes.size(); ++d)
      if (result.sizes[d].is(1)) {
        result.sizes[d] = size();
        result.strides[d] = 0;
        found = true;
      }
    if (found) view("aten.expand", {x, ints(result.sizes)}, result, x);
  }

  void slice(ir::ValueId x) {
    auto result = type(x);
    if (result.sizes.empty()) return;
    const auto d = static_cast<size_t>(below(static_cast<int64_t>(result.sizes.size())));
    const auto before = floor_div(result.sizes[d], 3), after = result.sizes[d];
    result.offset = result.offset + before * result.strides[d];
    result.sizes[d] = after - before;
    view("aten.slice.Tensor", {x, at(d), before, after}, result, x);
  }

  void parts(ir::ValueId x) {
    auto sizes = type(x).sizes;
    if (sizes.empty()) return;
    const auto d = static_cast<size_t>(below(static_cast<int64_t>(sizes.size())));
    if (below(2) == 0) {
      auto more = sizes;
      more[d] = size();
      const auto y = input(more);
      sizes[d] = sizes[d] + more[d];
      node("aten.cat", {ir::Arg::List{x, y}, at(d)}, ir::contiguous_tensor(ir::DType::F32, sizes));
      return;
    }
    ir::Arg::List pads(2 * (sizes.size() - d), ir::Arg(0));
    const auto before = size(), after = mod(ir::Dim::symbol(0), 3);
    pads[pads.size() - 2] = before;
    pads[pads.size() - 1] = after;
    sizes[d] = sizes[d] + before + after;
    node("aten.constant_pad_nd", {x, pads, 0.5}, ir::contiguous_tensor(ir::DType::F32, sizes));
  }

  void indexing(ir::ValueId x) {
    auto sizes = type(x).sizes;
    if (sizes.empty()) return;
    const auto count = size();
    if (may_be_empty(count) || std::ranges::any_of(sizes, may_be_empty)) return unary(x);
    if (below(2) == 0) {
      const auto d = static_cast<size_t>(below(static_cast<int64_t>(sizes.size())));
      const auto index = input({count}, ir::DType::I64, sizes[d].to_string());
      sizes[d] = count;
      node("aten.index_select", {x, at(d), index}, ir::contiguous_tensor(ir::DType::F32, sizes));
      return;
    }
    const auto index = input({sizes[0]}, ir::DType::I64, count.to_string());
    sizes[0] = count;
    const auto into = input(sizes);
    node("aten.index_add", {into, 0, index, x}, ir::contiguous_tensor(ir::DType::F32, sizes));
  }

  void add_outputs() {
    ir::PerValue<bool> read(graph_.values.size());
    for (const auto& one : graph_.nodes) ir::for_each_input(one, [&](ir::ValueId id) { read[id] = true; });
    for (auto id : values_)
      if (!read[id] || below(6) == 0) graph_.outputs.push_back({id, ir::OutputRole::UserOutput, {}, -1});
  }

  std::mt19937_64 random_;
  ir::Graph graph_;
  std::vector<ir::ValueId> values_;
};

}  // namespace antegrad::schedule
