#include "compiler/plan/plan.h"

#include <algorithm>

#include "ir/binary.h"
#include "ir/verify.h"
#include "partition/binary.h"
#include "passes/freeze/constants.h"
#include "passes/freeze/pack_weights.h"
#include "passes/pipelines.h"
#include "trace/trace.h"

namespace antegrad::compiler {
namespace {

bool is_on_cuda(const ir::Graph& graph) {
  return std::any_of(graph.values.begin(), graph.values.end(), [](const ir::Value& value) {
    const auto* tensor = value.type.tensor();
    return tensor != nullptr && tensor->device.kind == ir::Device::Kind::Cuda;
  });
}

passes::PipelineOptions pipeline_options(const Options& options) {
  // Verifying takes about a microsecond for ten nodes.
  return {.disabled = options.disabled_passes, .verify = true, .keep_texts = false};
}

}  // namespace

void run_passes(const Options& options, bool effects, bool lazy_bits, Rng rng, ir::Graph& graph) {
  const trace::Span span("passes");
  passes::run_pipeline(graph, passes::functional_passes({rng == Rng::Fused, effects, lazy_bits}),
                       pipeline_options(options));
}

Optimised optimise(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts) {
  Optimised out;
  out.graph = graph;
  // Without kernels for the device, numbers of the fused stream would be drawn on the host.
  const bool by_libtorch = is_on_cuda(graph) && (facts.lazy_bits || !settings.lowering->makes_kernels(graph));
  run_passes(settings.options, settings.effects, facts.lazy_bits,
             by_libtorch ? Rng::Eager : settings.options.rng, out.graph);
  // Kernels read memory as it is and would ignore lazy conjugation and negation.
  out.has_kernels = settings.lowering->makes_kernels(out.graph) && !facts.lazy_bits;
  out.before_fusion = out.graph;
  if (settings.options.freeze && out.has_kernels)
    passes::run_pipeline(out.before_fusion, passes::passes_of("frozen"), pipeline_options(settings.options));
  if (out.has_kernels) settings.lowering->prepare(out.before_fusion);
  return out;
}

Plan divide(const PlanSettings& settings, Optimised optimised, const CaptureFacts& facts) {
  const trace::Span span(facts.differentiable ? "partition" : "plan");
  const auto& options = settings.options;
  Plan plan;
  plan.graph = std::move(optimised.graph);
  plan.has_kernels = optimised.has_kernels;
  if (facts.differentiable)
    plan.partition =
        partition::partition(optimised.before_fusion, options.policy, options.scope_rules,
                             {.fuses = plan.has_kernels, .writable_inputs = options.writable_inputs});
  else
    plan.forward = std::move(optimised.before_fusion);
  ir::verify(plan.forward_graph());
  if (plan.partition) ir::verify(plan.partition->backward);
  return plan;
}

void freeze(Plan& plan, bool packs) {
  auto& forward = plan.partition ? plan.partition->forward : plan.forward;
  if (packs && plan.has_kernels) passes::pack_weights(forward);
  plan.frozen = passes::take_out_constants(forward);
  if (!plan.frozen) return;
  ir::verify(forward);
  ir::verify(*plan.frozen);
}

Plan make_plan(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts) {
  return divide(settings, optimise(settings, graph, facts), facts);
}

void write(ByteWriter& out, const Plan& plan) {
  out.flag(plan.has_kernels);
  ir::write(out, plan.graph);
  out.flag(plan.partition.has_value());
  if (plan.partition)
    partition::write(out, *plan.partition);
  else
    ir::write(out, plan.forward);
}

Plan read_plan(ByteReader& in) {
  Plan plan;
  plan.has_kernels = in.flag();
  plan.graph = ir::read_graph(in);
  if (in.flag())
    plan.partition = partition::read_partition(in);
  else
    plan.forward = ir::read_graph(in);
  return plan;
}

}  // namespace antegrad::compiler
