#include "runtime/index_checks.h"

#include <algorithm>

#include "runtime/overwrite.h"
#include "schedule/item.h"

namespace antegrad::runtime {
namespace {

class Slicer {
 public:
  explicit Slicer(const schedule::Program& program)
      : graph_(program.graph),
        by_kernel_(graph_.nodes.size(), true),
        kept_(graph_.nodes.size()),
        needed_(graph_.values.size()),
        defined_(graph_.values.size()) {
    for (const auto& step : program.steps)
      if (const auto* run = std::get_if<schedule::RunNode>(&step))
        by_kernel_[static_cast<size_t>(run->node)] = false;
  }

  IndexChecks run() {
    for (auto n = graph_.nodes.size(); n-- > 0;) visit(n);
    out_.graph = graph_;
    out_.graph.inputs.clear();
    out_.graph.nodes.clear();
    out_.graph.outputs.clear();
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (needed_[at(graph_.inputs[i].value)]) add_input(graph_.inputs[i].value, static_cast<int32_t>(i));
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (kept_[n] || takes_indices(n)) add_node(graph_.nodes[n]);
    return std::move(out_);
  }

 private:
  static size_t at(ir::ValueId v) { return static_cast<size_t>(v.index); }

  bool takes_indices(size_t n) const { return by_kernel_[n] && schedule::takes_indices(graph_.nodes[n].op); }

  /// Whether its contents decide which error there is.
  bool may_be_index(ir::ValueId v) const {
    const auto* type = graph_.type_of(v).tensor();
    return type == nullptr || type->dtype == ir::DType::I64 || type->dtype == ir::DType::I32;
  }

  void visit(size_t n) {
    const auto& node = graph_.nodes[n];
    kept_[n] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId v) { return needed_[at(v)]; });
    if (!kept_[n] && !takes_indices(n)) return;
    ir::for_each_input(
        node, [&](ir::ValueId v) { needed_[at(v)] = needed_[at(v)] || kept_[n] || may_be_index(v); });
    for (auto v : node.effects.writes) needed_[at(v)] = true;
  }

  void add_input(ir::ValueId v, int32_t index) {
    defined_[at(v)] = true;
    if (index < 0) out_.graph.values[at(v)].base = {};
    out_.graph.inputs.push_back({v, ir::InputRole::UserInput, {}});
    out_.inputs.push_back(index);
  }

  void add_node(const ir::Node& node) {
    ir::for_each_input(node, [&](ir::ValueId v) {
      if (!defined_[at(v)]) add_input(v, -1);
    });
    for (auto v : node.outputs) defined_[at(v)] = true;
    out_.graph.nodes.push_back(node);
  }

  const ir::Graph& graph_;
  std::vector<bool> by_kernel_;  ///< per node
  std::vector<bool> kept_;       ///< per node: an index is computed from it
  std::vector<bool> needed_;     ///< per value: its contents matter
  std::vector<bool> defined_;    ///< per value: in the graph that is made
  IndexChecks out_;
};

}  // namespace

std::optional<IndexChecks> index_checks(const schedule::Program& program) {
  if (std::none_of(program.kernels.begin(), program.kernels.end(), may_fail)) return std::nullopt;
  return Slicer(program).run();
}

}  // namespace antegrad::runtime
