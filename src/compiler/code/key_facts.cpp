#include "compiler/code/key_facts.h"

#include <ATen/Context.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include <set>

#include "aten/op_schema.h"
#include "toolchain/build_id.h"
#include "util/process_end.h"

namespace antegrad::compiler {
namespace {

/// Returns the build id of the library that extern calls go to.
const std::string& libtorch_build() {
  static const auto& id =
      *new const std::string(toolchain::build_id_of(reinterpret_cast<const void*>(&at::globalContext)));
  return id;
}

/// Threads that outlive main() may capture when LibTorch's settings are gone.
int matmul_precision() {
  constexpr int kUnknown = -1;
  return process_end::destroys_statics() ? kUnknown
                                         : static_cast<int>(at::globalContext().float32MatmulPrecision());
}

std::string ambient_text(const runtime::Ambient& ambient) {
  return fmt::format(
      "grad mode {}\ninference mode {}\ndeterministic {}\nkernel flags {:x}\ndefault dtype {}\nautocast cpu "
      "{} {}\nautocast "
      "cuda {} {}\nmatmul precision {}\nkeys {:x} {:x}\n",
      ambient.grad_mode, ambient.inference_mode, ambient.deterministic, ambient.kernel_flags,
      c10::toString(ambient.default_dtype), ambient.autocast_cpu, c10::toString(ambient.autocast_cpu_dtype),
      ambient.autocast_cuda, c10::toString(ambient.autocast_cuda_dtype), matmul_precision(),
      ambient.included_keys, ambient.excluded_keys);
}

/// Returns the schemas of custom ops, which the version of LibTorch does not identify.
std::string foreign_ops_text(const ir::Graph& graph) {
  std::set<std::string> schemas;
  for (const auto& node : graph.nodes)
    if (const auto* schema = aten::find_schema(node.op); schema != nullptr && schema->foreign)
      schemas.insert(c10::toString(schema->handle.schema()));
  return fmt::format("{}", fmt::join(schemas, "\n"));
}

}  // namespace

KeyFacts key_facts(const ir::Graph& graph, const runtime::Ambient& ambient) {
  return {fmt::format("{} {}", TORCH_VERSION, libtorch_build()), ambient_text(ambient),
          foreign_ops_text(graph)};
}

}  // namespace antegrad::compiler
