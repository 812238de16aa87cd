#include "compiler/plan.h"

#include "ir/binary.h"
#include "ir/verify.h"
#include "partition/binary.h"
#include "trace/trace.h"

namespace antegrad::compiler {

Plan make_plan(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts) {
  const auto& options = settings.options;
  Plan plan;
  plan.graph = graph;
  run_passes(options, settings.effects, facts.lazy_bits, options.rng, plan.graph);
  // A kernel reads memory as it is, not what a conjugated or negated tensor stands for.
  plan.has_kernels = settings.lowering->makes_kernels(plan.graph) && !facts.lazy_bits;
  auto lowered = plan.graph;
  if (plan.has_kernels) settings.lowering->prepare(lowered);
  const trace::Span span(facts.differentiable ? "partition" : "plan");
  if (facts.differentiable)
    plan.partition =
        partition::partition(lowered, options.policy, options.scope_rules,
                             {.fuses = plan.has_kernels, .writable_inputs = options.writable_inputs});
  else
    plan.forward = std::move(lowered);
  ir::verify(plan.forward_graph());
  if (plan.partition) ir::verify(plan.partition->backward);
  return plan;
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
