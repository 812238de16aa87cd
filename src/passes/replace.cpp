#include "passes/replace.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "passes/rewrite.h"

namespace antegrad::passes {
namespace {

/// Its elements are not next to each other in memory: no op that is put in place of another gives that.
bool has_gaps(const ir::TensorType& type) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (!type.sizes[d].is_constant() || !type.strides[d].is_constant()) return !type.is_contiguous();
    if (type.sizes[d].constant() == 0) return false;
    if (type.sizes[d].constant() != 1)
      dims.emplace_back(type.strides[d].constant(), type.sizes[d].constant());
  }
  std::ranges::sort(dims);
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return true;
    expected *= size;
  }
  return false;
}

class Replacer {
 public:
  Replacer(ir::Graph& graph, Decomposition (*rule_of)(std::string_view))
      : graph_(graph), rule_of_(rule_of), reads_(reads_by_nodes(graph)) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) ++reads_[static_cast<size_t>(output.value.index)];
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
    } catch (const Unusual&) {
      graph_.values.resize(values);
      return false;
    }
  }

  bool gives_gaps(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ir::ValueId id) {
      const auto* type = graph_.type_of(id).tensor();
      return type != nullptr && has_gaps(*type);
    });
  }

  bool has_read_undefined_output(const ir::Node& node) const {
    return std::ranges::any_of(node.outputs, [&](ir::ValueId id) {
      return graph_.type_of(id).tensor() == nullptr && reads_[static_cast<size_t>(id.index)] > 0;
    });
  }

  ir::Graph& graph_;
  Decomposition (*rule_of_)(std::string_view);
  std::vector<int32_t> reads_;
};

}  // namespace

bool replace_nodes(ir::Graph& graph, Decomposition (*rule_of)(std::string_view)) {
  return is_functional(graph) && Replacer(graph, rule_of).run();
}

}  // namespace antegrad::passes
