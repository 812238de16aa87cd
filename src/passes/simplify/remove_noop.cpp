#include "passes/simplify/remove_noop.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "passes/rewrite/rewrite.h"
#include "passes/rewrite/sharing.h"

namespace antegrad::passes {
namespace {

/// Views that are fully described by sizes, strides, offset and dtype. Excludes aten._conj and
/// aten._neg_view, whose result differs from their argument in a bit that types do not show.
bool is_plain_view(std::string_view op) {
  static const auto& ops = *new const std::unordered_set<std::string_view>{
      "aten.alias",       "aten.detach",         "aten.view",
      "aten.reshape",     "aten._reshape_alias", "aten.permute",
      "aten.expand",      "aten.slice.Tensor",   "aten.squeeze",
      "aten.squeeze.dim", "aten.squeeze.dims",   "aten.unsqueeze",
      "aten.t",           "aten.transpose.int",  "aten.select.int",
      "aten.as_strided",  "aten._unsafe_view",   "aten.view_as",
      "aten.expand_as",   "aten.narrow",         "aten.contiguous",
      "aten.to.dtype",    "aten.lift_fresh",     "aten.flatten.using_ints"};
  return ops.contains(op);
}

/// The position of the tensor that the op copies; -1 if it is not a copy.
int copied_argument(const ir::Node& node) {
  static const auto& ops = *new const std::unordered_set<std::string_view>{
      "aten.clone",        "aten._to_copy",    "aten.alias_copy",   "aten.detach_copy",    "aten.view_copy",
      "aten.permute_copy", "aten.expand_copy", "aten.squeeze_copy", "aten.lift_fresh_copy"};
  if (node.op == "aten.copy") return 1;
  if (!ops.contains(node.op)) return -1;
  const bool pins =
      std::ranges::any_of(node.attrs, [](const auto& attr) { return attr.name == "pin_memory"; });
  return pins ? -1 : 0;
}

/// Ops whose result LibTorch makes by cloning the whole storage of their first operand: the result begins
/// where that does. Writes to a copy become such ops.
bool clones_storage(std::string_view op) {
  return op == "aten.copy" || op == "aten.slice_scatter" || op == "aten.select_scatter" ||
         op == "aten.diagonal_scatter";
}

/// Per value: an op reads it that clones its storage.
ir::PerValue<bool> read_with_storage(const ir::Graph& graph) {
  ir::PerValue<bool> reads(graph.values.size());
  for (const auto& node : graph.nodes)
    if (clones_storage(node.op) && !node.args.empty())
      if (const auto* value = node.args[0].as<ir::ValueId>()) reads[*value] = true;
  return reads;
}

class Remover {
 public:
  explicit Remover(ir::Graph& graph)
      : graph_(graph),
        sharing_(graph),
        rewrite_(graph),
        node_of_(definitions(graph)),
        reads_(reads_by_nodes(graph)),
        read_by_writers_(read_by_writers(graph)),
        read_with_storage_(read_with_storage(graph)) {}

  bool run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) visit(i);
    return rewrite_.apply();
  }

 private:
  void visit(size_t i) {
    const auto& node = graph_.nodes[i];
    if (!node.effects.none() || node.outputs.size() != 1 || !node.returns.empty()) return;
    const auto result = node.outputs.front();
    if (read_by_writers_[result]) return;
    if (is_plain_view(node.op)) {
      const auto same = same_as_viewed(node, result);
      if (!same.valid() || wrapped(same)) return;
      const bool returned = sharing_.direct_outputs(result) > 0;
      if (!returned || reads_[result] > 0) rewrite_.replace_in_nodes(result, same);
      if (!returned) rewrite_.erase_node(i);
      return;
    }
    const auto source = argument(node, copied_argument(node));
    if (!source.valid() || !copy_is_invisible(result, source)) return;
    // An argument may begin anywhere in a large storage, its copy at the first element of one of its own.
    if (read_with_storage_[result] && !node_of_[sharing_.root(source)].valid()) return;
    rewrite_.replace_in_nodes(result, source);
    sharing_.merge(result, source);
    rewrite_.erase_node(i);
  }

  /// Returns the tensor that is identical to the node's result among those that it views, directly or through
  /// other views.
  ir::ValueId same_as_viewed(const ir::Node& node, ir::ValueId result) const {
    constexpr int kFarthest = 8;
    const auto* view = &node;
    for (int step = 0; step < kFarthest; ++step) {
      const auto viewed = argument(*view, 0);
      if (!viewed.valid() || sharing_.root(viewed) != sharing_.root(result)) return {};
      if (graph_.type_of(viewed) == graph_.type_of(result)) return viewed;
      const auto definition = node_of_[viewed];
      if (!definition.valid()) return {};
      view = &graph_.node(definition);
      if (!is_plain_view(view->op)) return {};
    }
    return {};
  }

  bool copy_is_invisible(ir::ValueId copy, ir::ValueId source) const {
    if (!(graph_.type_of(copy) == graph_.type_of(source)) || !sharing_.is_root(copy) || wrapped(source))
      return false;
    if (sharing_.outputs(copy) > 0 || sharing_.outputs(source) > 0) return false;
    return graph_.stage != ir::Stage::Joint || !sharing_.caller_writes(source);
  }

  ir::ValueId argument(const ir::Node& node, int position) const {
    if (position < 0 || position >= std::ssize(node.args)) return {};
    const auto* id = node.args[position].as<ir::ValueId>();
    return id == nullptr ? ir::ValueId{} : rewrite_.resolve(*id);
  }

  bool wrapped(ir::ValueId id) const {
    const auto definition = node_of_[id];
    return definition.valid() && is_wrapped_number(graph_.node(definition));
  }

  ir::Graph& graph_;
  Sharing sharing_;
  Rewrite rewrite_;
  ir::PerValue<ir::NodeId> node_of_;
  ir::PerValue<int32_t> reads_;
  ir::PerValue<bool> read_by_writers_;
  ir::PerValue<bool> read_with_storage_;
};

}  // namespace

bool remove_noop(ir::Graph& graph) { return is_functional(graph) && Remover(graph).run(); }

}  // namespace antegrad::passes
