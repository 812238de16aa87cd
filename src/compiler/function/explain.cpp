#include "compiler/function/explain.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"

namespace antegrad::compiler {
namespace {

std::string text_of(const schedule::Program& program) {
  std::string text;
  for (const auto& decision : program.decisions) {
    text += decision.what;
    if (!decision.why.empty()) text += fmt::format(" ({})", decision.why);
    text += "\n";
    for (auto node : decision.nodes)
      text += fmt::format("  {}\n", ir::print(program.graph, program.graph.nodes[node]));
  }
  return text;
}

void add_pass(const char* pass, const ir::Graph& graph, const Lowering& lowering, Explanation& out) {
  const auto program = lowering.program(graph, at::globalContext().deterministicAlgorithms());
  out.decisions += fmt::format("{}\n{}", pass, text_of(program));
  for (const auto& kernel : program.kernels)
    out.sources.emplace_back(fmt::format("{} {}", pass, kernel.name), lowering.source(kernel, graph));
}

/// The executable knows nothing of writes when LibTorch runs every op.
std::string writes_text(const Version& version, const Instance& instance) {
  std::string text;
  const auto& inputs = version.compiled().plan().forward_graph().inputs;
  const auto& known = instance.caller->executable().writes();
  for (const auto& write : runtime::input_writes(instance.caller->signature()).list) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.output == write.output; });
    const auto why = found == known.end() ? "LibTorch runs every op" : found->copied_because;
    text += inputs[write.input].name +
            (why.empty() ? ": written in place\n" : fmt::format(": copied at the end: {}\n", why));
  }
  return text;
}

}  // namespace

Explanation explain(const Version& version, const Instance& instance, const Lowering& lowering) {
  Explanation out;
  out.writes = writes_text(version, instance);
  const auto& plan = version.compiled().plan();
  out.guards = version.guards_text();
  for (const auto& region : version.regions) out.decisions += region + "\n";
  out.graph = ir::print(plan.graph);
  if (plan.frozen) out.frozen = ir::print(*plan.frozen);
  const auto& forward = plan.forward_graph();
  out.forward = ir::print(forward);
  if (plan.partition) out.backward = ir::print(plan.partition->backward);
  if (!plan.has_kernels) {
    const auto why = lowering.why_no_kernels(plan.graph);
    out.decisions +=
        why.empty() ? "LibTorch runs every op\n" : fmt::format("LibTorch runs every op: {}\n", why);
    return out;
  }
  add_pass("forward", forward, lowering, out);
  if (plan.partition) add_pass("backward", plan.partition->backward, lowering, out);
  out.toolchain = lowering.toolchain_name();
  out.isa = lowering.isa_name();
  return out;
}

}  // namespace antegrad::compiler
