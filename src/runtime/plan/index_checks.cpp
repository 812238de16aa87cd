#include "runtime/plan/index_checks.h"

#include <algorithm>
#include <ranges>

#include "runtime/plan/overwrite.h"
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
      if (const auto* run = std::get_if<schedule::RunNode>(&step)) by_kernel_[run->node] = false;
    // Kernels for CUDA report errors themselves (runtime/cuda/error_words.h).
    for (const auto n : graph_.node_ids())
      for (auto v : graph_.node(n).outputs)
        if (const auto* type = graph_.type_of(v).tensor();
            type != nullptr && type->device.kind == ir::Device::Kind::Cuda)
          by_kernel_[n] = false;
  }

  IndexChecks run() {
    for (const auto n : graph_.node_ids() | std::views::reverse) visit(n);
    out_.graph = graph_;
    out_.graph.inputs.clear();
    out_.graph.nodes.clear();
    out_.graph.outputs.clear();
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (needed_[graph_.inputs[i].value]) add_input(graph_.inputs[i].value, static_cast<int32_t>(i));
    for (const auto n : graph_.node_ids())
      if (kept_[n] || takes_indices(n)) add_node(graph_.node(n));
    return std::move(out_);
  }

 private:
  bool takes_indices(ir::NodeId n) const {
    return by_kernel_[n] && schedule::takes_indices(graph_.node(n).op);
  }

  /// Returns whether the value's contents decide which error is raised.
  bool may_be_index(ir::ValueId v) const {
    const auto* type = graph_.type_of(v).tensor();
    return type == nullptr || type->dtype == ir::DType::I64 || type->dtype == ir::DType::I32;
  }

  void visit(ir::NodeId n) {
    const auto& node = graph_.node(n);
    kept_[n] =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId v) { return needed_[v]; });
    if (!kept_[n] && !takes_indices(n)) return;
    ir::for_each_input(node, [&](ir::ValueId v) { needed_[v] = needed_[v] || kept_[n] || may_be_index(v); });
    for (auto v : node.effects.writes) needed_[v] = true;
  }

  void add_input(ir::ValueId v, int32_t index) {
    defined_[v] = true;
    if (index < 0) out_.graph.values[v].base = {};
    out_.graph.inputs.push_back({v, ir::InputRole::UserInput, {}});
    out_.inputs.push_back(index);
  }

  void add_node(const ir::Node& node) {
    ir::for_each_input(node, [&](ir::ValueId v) {
      if (!defined_[v]) add_input(v, -1);
    });
    for (auto v : node.outputs) defined_[v] = true;
    out_.graph.nodes.push_back(node);
  }

  const ir::Graph& graph_;
  ir::PerNode<bool> by_kernel_;
  ir::PerNode<bool> kept_;      ///< an index is computed from its outputs
  ir::PerValue<bool> needed_;   ///< its contents matter
  ir::PerValue<bool> defined_;  ///< in the graph that is made
  IndexChecks out_;
};

}  // namespace

IndexChecksPtr index_checks(const schedule::Program& program) {
  const auto throws = [](const schedule::Kernel& kernel) {
    return kernel.device == ir::Device::Kind::Cpu && may_fail(kernel);
  };
  if (std::none_of(program.kernels.begin(), program.kernels.end(), throws)) return nullptr;
  return std::make_shared<const IndexChecks>(Slicer(program).run());
}

}  // namespace antegrad::runtime
