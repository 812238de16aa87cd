#include "compiler/api/compiled_graph.h"

#include <algorithm>

#include "antegrad/error.h"
#include "aot/aliasing.h"
#include "aten/below_recording.h"
#include "compiler/code/driver.h"
#include "compiler/code/make_executable.h"
#include "ir/verify.h"
#include "runtime/rng_state.h"

namespace antegrad::compiler {
namespace {

bool has_input(const ir::Graph& graph, ir::InputRole role) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [role](const ir::Input& input) { return input.role == role; });
}

std::shared_ptr<const Lowered> code_of(const Plan& plan, const Lowering* lowering, const ir::Graph& graph) {
  return plan.has_kernels ? lower(*lowering, graph) : std::make_shared<const Lowered>(graph);
}

/// Whether an argument was expanded when the graph was captured. Other arguments are not, and kernels would
/// read them as if they were.
bool takes_expanded(const ir::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const ir::Input& input) {
    const auto* type = graph.type_of(input.value).tensor();
    return type != nullptr && aot::overlaps_itself(*type);
  });
}

}  // namespace

ir::Graph runnable(ir::Graph graph) {
  ir::verify(graph);
  if (graph.stage != ir::Stage::Traced) return graph;
  for (const auto& node : graph.nodes)
    if (!node.effects.writes.empty())
      throw Error(ErrorCode::Verify, "run", "the graph is a traced one with writes",
                  "Give a functional or a joint graph, such as antegrad::export_joint returns");
  graph.stage = has_input(graph, ir::InputRole::Tangent) ? ir::Stage::Joint : ir::Stage::Functional;
  ir::verify(graph);
  return graph;
}

CompiledGraph::CompiledGraph(const ir::Graph& graph, Plan plan, const Lowering* lowering,
                             const std::vector<int64_t>& symbols)
    : plan_(std::move(plan)), forward_code_(code_of(plan_, lowering, plan_.forward_graph())) {
  forward_ = make_executable(*forward_code_, symbols);
  for (const auto& output : graph.outputs) roles_.push_back(output.role);
  if (plan_.partition) {
    backward_code_ = code_of(plan_, lowering, plan_.partition->backward);
    backward_ = make_executable(*backward_code_, symbols);
  }
  adds_state_ = has_input(plan_.graph, ir::InputRole::RngState) && !has_input(graph, ir::InputRole::RngState);
}

CompiledGraph CompiledGraph::compiled(const ir::Graph& graph, const Options& options,
                                      const std::vector<int64_t>& symbols) {
  const auto lowering = std::make_shared<const Lowering>(options);
  CaptureFacts facts;
  facts.differentiable = graph.stage == ir::Stage::Joint;
  auto plan = make_plan({options, true, lowering}, graph, facts);
  return CompiledGraph(graph, std::move(plan), lowering.get(), symbols);
}

CompiledGraph CompiledGraph::as_written(const ir::Graph& graph, const std::vector<int64_t>& symbols) {
  Plan plan;
  plan.graph = graph;
  if (graph.stage == ir::Stage::Joint)
    plan.partition = partition::partition(graph, SaveAll{}, {}, {.fuses = false, .writable_inputs = false});
  else
    plan.forward = graph;
  return CompiledGraph(graph, std::move(plan), nullptr, symbols);
}

CompiledGraph CompiledGraph::whole(const ir::Graph& graph, const Options& options) {
  const Lowering lowering(options);
  Plan plan;
  plan.graph = plan.forward = graph;
  plan.has_kernels = lowering.makes_kernels(graph) && !takes_expanded(graph);
  if (plan.has_kernels) lowering.prepare(plan.forward);
  return CompiledGraph(graph, std::move(plan), &lowering, {});
}

CompiledGraph CompiledGraph::whole_as_written(const ir::Graph& graph) {
  Plan plan;
  plan.graph = plan.forward = graph;
  return CompiledGraph(graph, std::move(plan), nullptr, {});
}

CompiledGraph::Half CompiledGraph::half(const Lowered& code, const runtime::Executable& executable) {
  Half out;
  out.arena_bytes = executable.arena_bytes();
  const auto& program = code.program();
  if (code.is_eager()) {
    out.calls = program.graph.nodes.size();
    return out;
  }
  for (const auto& step : program.steps)
    ++(std::holds_alternative<schedule::RunKernel>(step) ? out.kernels : out.calls);
  return out;
}

std::vector<at::Tensor> CompiledGraph::run(const std::vector<at::Tensor>& inputs) const {
  aten::BelowRecording below;
  std::vector<at::Tensor> all, outputs;  // including what the passes have added
  size_t next = 0;
  for (const auto& input : plan_.graph.inputs) {
    const bool state = adds_state_ && input.role == ir::InputRole::RngState;
    all.push_back(state ? runtime::take_rng_state() : inputs[next++]);
  }
  if (is_split())
    run_halves(all, outputs);
  else
    forward_->run(all, outputs);
  return outputs;
}

void CompiledGraph::run_halves(const std::vector<at::Tensor>& inputs,
                               std::vector<at::Tensor>& outputs) const {
  std::vector<at::Tensor> primals, tangents, forward, read, gradients;
  for (size_t i = 0; i < inputs.size(); ++i)
    (plan_.graph.inputs[i].role == ir::InputRole::Tangent ? tangents : primals).push_back(inputs[i]);
  forward_->run(std::move(primals), forward);
  for (const auto& saved : plan_.partition->saved)
    read.push_back(saved.input >= 0 ? inputs[saved.input] : forward[saved.output]);
  for (auto& tangent : tangents) read.push_back(std::move(tangent));
  const auto count = std::count(roles_.begin(), roles_.end(), ir::OutputRole::Grad);
  // The rest are saved tensors, which may be freed after their last use.
  forward.resize(roles_.size() - count);
  backward_->run(std::move(read), gradients);
  size_t next_result = 0, next_gradient = 0;
  for (const auto role : roles_)
    outputs.push_back(role == ir::OutputRole::Grad ? gradients[next_gradient++] : forward[next_result++]);
}

}  // namespace antegrad::compiler
