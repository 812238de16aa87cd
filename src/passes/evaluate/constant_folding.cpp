#include "passes/evaluate/constant_folding.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/storages.h"
#include "passes/evaluate/evaluate.h"
#include "passes/rewrite/rewrite.h"
#include "passes/rewrite/sharing.h"

namespace antegrad::passes {
namespace {

class Folder {
 public:
  explicit Folder(ir::Graph& graph)
      : graph_(graph), sharing_(graph), before_(graph), known_(graph.values.size()) {}

  bool run() {
    bool changed = false;
    for (auto& node : graph_.nodes) {
      before_.follow(graph_, node);  // views of a folded value become views of the constant
      if (!node.effects.none() || node.outputs.size() != 1 || !node.returns.empty() ||
          is_wrapped_number(node))
        continue;
      const auto result = node.outputs.front();
      auto& literal = known_[result];
      if (node.op == "antegrad.constant") {
        literal = literal_of_constant(graph_, node);
        continue;
      }
      literal = evaluate(graph_, node, known_);
      if (!literal || !may_fold(result)) continue;
      fold(node, *literal);
      changed = true;
    }
    if (changed) graph_.compact();
    return changed;
  }

 private:
  /// The runtime copies constants that are graph outputs, so that such a value must not share memory with
  /// another output.
  bool may_fold(ir::ValueId id) const {
    const auto& type = graph_.tensor_type(id);
    if (type.strides != ir::contiguous_strides(type.sizes)) return false;
    const auto outputs = sharing_.outputs(id);
    return outputs == 0 || (outputs == 1 && sharing_.direct_outputs(id) == 1 && sharing_.is_root(id));
  }

  void fold(ir::Node& node, const Literal& literal) {
    const auto id = node.outputs.front();
    auto& value = graph_.values[id];
    node.op = "antegrad.constant";
    node.args.clear();
    node.attrs.clear();
    node.attrs.push_back({"data", ir::Bytes(std::make_shared<const std::vector<uint8_t>>(literal.data))});
    value.base = {};
    value.type.tensor()->offset = 0;
  }

  ir::Graph& graph_;
  Sharing sharing_;
  const ir::Storages before_;
  ir::PerValue<std::optional<Literal>> known_;
};

}  // namespace

bool constant_folding(ir::Graph& graph) { return is_functional(graph) && Folder(graph).run(); }

}  // namespace antegrad::passes
