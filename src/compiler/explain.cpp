#include "compiler/explain.h"

#include <fmt/format.h>

#include "codegen/cpu/kernel_source.h"
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
      text += fmt::format("  {}\n", ir::print(program.graph, program.graph.nodes[static_cast<size_t>(node)]));
  }
  return text;
}

void add_pass(const char* pass, const ir::Graph& graph, const Lowering& lowering, Explanation& out) {
  const auto program = lowering.program(graph);
  out.decisions += fmt::format("{}\n{}", pass, text_of(program));
  for (const auto& kernel : program.kernels)
    out.sources.emplace_back(fmt::format("{} {}", pass, kernel.name), codegen::cpu::unit_source({&kernel}));
}

}  // namespace

Explanation explain(const Version& version, const Lowering& lowering) {
  Explanation out;
  const auto& compiled = version.compiled();
  out.guards = version.guards_text();
  out.graph = ir::print(compiled.graph());
  const auto* partition = compiled.partition();
  const auto& forward = compiled.forward();
  out.forward = ir::print(forward);
  if (partition != nullptr) out.backward = ir::print(partition->backward);
  if (!compiled.has_kernels()) {
    out.decisions = "every op by LibTorch\n";
    return out;
  }
  add_pass("forward", forward, lowering, out);
  if (partition != nullptr) add_pass("backward", partition->backward, lowering, out);
  out.toolchain = lowering.toolchain_name();
  out.isa = lowering.isa_name();
  return out;
}

}  // namespace antegrad::compiler
