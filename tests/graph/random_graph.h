#pragma once
// Random graphs that use every alternative the text form has. They need not verify: op names, shapes and
// roles are arbitrary.
#include <algorithm>

#include "graph/random_literals.h"

namespace antegrad::ir::testing {

class RandomGraph : private RandomLiterals {
 public:
  explicit RandomGraph(uint64_t seed) : RandomLiterals(seed) {}

  Graph make(int nesting = 2) {
    Graph graph;
    graph.name = name();
    graph.stage = pick<Stage>(5);
    symbols_ = below(4);
    for (int i = 0; i < symbols_; ++i) graph.symbols.push_back({range(), below(3) * 7});
    ids_.clear();
    readable_ = 0;
    const int inputs = below(4), nodes = below(6), outputs = below(4);
    for (int i = 0; i < inputs; ++i)
      graph.inputs.push_back({define(graph), pick<InputRole>(8), maybe_text()});
    readable_ = ids_.size();
    for (int i = 0; i < nodes; ++i) graph.nodes.push_back(node(graph, nesting));
    for (int i = 0; i < outputs; ++i)
      graph.outputs.push_back(
          {one_in(4) ? ValueId{} : use(), pick<OutputRole>(6), maybe_text(), below(4) - 1});
    shuffle_ids(graph);
    return graph;
  }

 private:
  Arg arg(int nesting) {
    switch (below(nesting > 0 ? 15 : 13)) {
      case 0:
        return None{};
      case 1:
        return one_in(2);
      case 2:
        return Dim(integer());
      case 3:
        return dim();
      case 4:
        if (one_in(3)) return Real{pick<Real::Form>(3), number(), dim()};
        return number();
      case 5:
        return std::complex<double>(number(), number());
      case 6:
        return text();
      case 7:
        return pick<DType>(17);
      case 8:
        return device();
      case 9:
        return pick<Layout>(1);
      case 10:
        return pick<MemoryFormat>(3);
      case 11:
        return bytes();
      case 12:
        return readable_ > 0 ? Arg(use()) : Arg(None{});
      case 13:
        return list(nesting - 1);
      default:
        return one_in(4) ? Arg(nested(nesting - 1)) : list(nesting - 1);
    }
  }
  Arg list(int nesting) {
    Arg::List out;
    for (int i = below(4); i > 0; --i) out.push_back(arg(nesting));
    return out;
  }
  GraphPtr nested(int nesting) { return std::make_shared<const Graph>(RandomGraph(rng_()).make(nesting)); }

  Node node(Graph& graph, int nesting) {
    static const char* const kOps[] = {"aten.add.Tensor", "aten.t", "antegrad.constant",
                                       "my_ops.f.2d",     "no op",  ""};
    Node out;
    out.op = kOps[below(one_in(5) ? 6 : 4)];
    for (int i = below(4); i > 0; --i) out.args.push_back(arg(nesting));
    for (int i = below(3); i > 0; --i) out.attrs.push_back({one_in(9) ? text() : "dim", arg(nesting)});
    if (readable_ > 0 && one_in(4))
      for (int i = 1 + below(2); i > 0; --i) out.effects.writes.push_back(use());
    out.effects.random = one_in(5);
    out.effects.ordered = one_in(5);
    out.functional = one_in(4);
    if (one_in(3)) out.provenance = {text(), integer()};
    outputs(graph, out);
    return out;
  }

  void outputs(Graph& graph, Node& node) {
    bool any_list = false;
    for (int i = below(4); i > 0; --i) {
      const int count = one_in(3) ? below(3) : -1;
      any_list |= count >= 0;
      node.returns.push_back(count);
      for (int k = 0; k < (count == -1 ? 1 : count); ++k) node.outputs.push_back(define(graph));
    }
    if (!any_list && one_in(2)) node.returns.clear();  // both spellings of "one return per output"
    if (node.functional)
      for (size_t i = 0; i < node.effects.writes.size(); ++i) node.outputs.push_back(define(graph));
    readable_ = ids_.size();
  }

  ValueId define(Graph& graph) {
    if (one_in(5)) graph.add_value(type());  // an id that no node defines
    const ValueId base = !ids_.empty() && one_in(4)
                             ? ids_[static_cast<size_t>(below(static_cast<int>(ids_.size())))]
                             : ValueId{};
    ids_.push_back(graph.add_value(type(), base));
    return ids_.back();
  }
  ValueId use() {
    return readable_ == 0 ? ValueId{} : ids_[static_cast<size_t>(below(static_cast<int>(readable_)))];
  }

  /// Permutes the value ids, as edits do.
  void shuffle_ids(Graph& graph) {
    if (!one_in(2)) return;
    PerValue<ValueId> to;
    for (const auto id : graph.values.ids()) to.push_back(id);
    std::shuffle(to.begin(), to.end(), rng_);
    const auto rename = [&](ValueId& id) {
      if (id.valid()) id = to[id];
    };
    PerValue<Value> values(graph.values.size());
    for (const auto id : values.ids()) {
      rename(graph.values[id].base);
      values[to[id]] = graph.values[id];
    }
    graph.values = std::move(values);
    for (auto& input : graph.inputs) rename(input.value);
    for (auto& node : graph.nodes) {
      for_each_input(node, rename);
      for (auto& id : node.effects.writes) rename(id);
      for (auto& id : node.outputs) rename(id);
    }
    for (auto& output : graph.outputs) rename(output.value);
  }

  size_t readable_ = 0;
  std::vector<ValueId> ids_;
};

}  // namespace antegrad::ir::testing
