#include "passes/constant_folding.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "passes/evaluate.h"
#include "passes/rewrite.h"
#include "passes/sharing.h"

namespace antegrad::passes {
namespace {

size_t index(ir::ValueId id) { return static_cast<size_t>(id.index); }

class Folder {
 public:
  explicit Folder(ir::Graph& graph)
      : graph_(graph),
        sharing_(graph),
        known_(graph.values.size()),
        root_(graph.values.size()),
        moved_(graph.values.size()) {
    for (size_t i = 0; i < root_.size(); ++i)
      root_[i] = graph.storage_of(ir::ValueId{static_cast<int32_t>(i)});
  }

  bool run() {
    bool changed = false;
    for (auto& node : graph_.nodes) {
      follow_storage(node);
      if (!node.effects.none() || node.outputs.size() != 1 || !node.returns.empty() ||
          is_wrapped_number(node))
        continue;
      const auto result = node.outputs.front();
      auto& literal = known_[index(result)];
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
  /// The runtime copies constants that are graph outputs, so such a value may share memory with no other
  /// output.
  bool may_fold(ir::ValueId id) const {
    const auto& type = graph_.tensor_type(id);
    if (type.strides != ir::contiguous_strides(type.sizes)) return false;
    const auto outputs = sharing_.outputs(id);
    return outputs == 0 || (outputs == 1 && sharing_.direct_outputs(id) == 1 && sharing_.is_root(id));
  }

  void fold(ir::Node& node, const Literal& literal) {
    const auto id = node.outputs.front();
    auto& value = graph_.values[index(id)];
    node.op = "antegrad.constant";
    node.args.clear();
    node.attrs.clear();
    node.attrs.push_back({"data", ir::Bytes(std::make_shared<const std::vector<uint8_t>>(literal.data))});
    value.base = {};
    auto& type = *value.type.tensor();
    moved_[index(id)] = moved_[index(root_[index(id)])] + std::exchange(type.offset, ir::Dim(0));
    root_[index(id)] = id;
  }

  /// Views of what was folded view the new constant, which begins where the folded view began.
  void follow_storage(const ir::Node& node) {
    for (auto id : node.outputs) {
      auto& value = graph_.values[index(id)];
      if (!value.base.valid()) continue;
      bool found = false;
      ir::for_each_input(node, [&](const ir::ValueId& read) {
        if (found || sharing_.root(read) != sharing_.root(id)) return;
        found = true;
        const auto root = root_[index(read)];
        if (root == value.base) return;
        value.base = root_[index(id)] = root;
        if (auto* type = value.type.tensor()) type->offset = type->offset - moved_[index(root)];
      });
    }
  }

  ir::Graph& graph_;
  Sharing sharing_;
  std::vector<std::optional<Literal>> known_;
  std::vector<ir::ValueId> root_;  ///< of each value's storage, as folding changes it
  std::vector<ir::Dim> moved_;     ///< of a new root: where it began in the storage before all folding
};

}  // namespace

bool constant_folding(ir::Graph& graph) { return is_functional(graph) && Folder(graph).run(); }

}  // namespace antegrad::passes
