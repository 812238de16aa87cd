#include "passes/rewrite/replace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/layout.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

class Replacer {
 public:
  Replacer(ir::Graph& graph, Decomposition (*rule_of)(std::string_view))
      : graph_(graph), rule_of_(rule_of), reads_(reads_by_nodes(graph)) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) ++reads_[output.value];
  }

  bool run() {
    bool changed = false;
    for (auto& node : std::exchange(graph_.nodes, {})) {
      if (replace(node))
        changed = true;
      else
        graph_.nodes.push_back(std::move(node));
    }
    if (changed) graph_.compact();
    return changed;
  }

 private:
  bool replace(const ir::Node& node) {
    if (node.effects.random || node.effects.ordered) return false;
    const auto build = rule_of_(node.op);
    if (build == nullptr || has_read_undefined_output(node) || gives_gaps(node)) return false;
    const size_t values = graph_.values.size();
    try {
      Builder builder(graph_, node);
      build(builder, Call(graph_, node));
      auto nodes = builder.take(node);
      std::ranges::move(nodes, std::back_inserter(graph_.nodes));
      return true;
    } catch (const NotHandled&) {
      graph_.values.resize(values);
      return false;
    }
  }

  /// Whether an output has gaps in its memory: replacement ops never produce such memory.
  bool gives_gaps(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ir::ValueId id) {
      const auto* type = graph_.type_of(id).tensor();
      return type != nullptr && !ir::is_dense(*type);
    });
  }

  bool has_read_undefined_output(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ir::ValueId id) {
      return graph_.type_of(id).tensor() == nullptr && reads_[id] > 0;
    });
  }

  ir::Graph& graph_;
  Decomposition (*rule_of_)(std::string_view);
  ir::PerValue<int32_t> reads_;
};

}  // namespace

bool replace_nodes(ir::Graph& graph, Decomposition (*rule_of)(std::string_view)) {
  return is_functional(graph) && Replacer(graph, rule_of).run();
}

}  // namespace antegrad::passes
