// Random graphs with symbols, compiled once and run at several sizes, are compared with the interpreter of
// kernels on the graph with constant sizes. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_GRAPHS choose other graphs.
#include <cstdlib>

#include "kernels/compiled_program.h"
#include "kernels/random_symbolic.h"

namespace antegrad::schedule {
namespace {

int64_t environment(const char* name, int64_t otherwise) {
  const auto* text = std::getenv(name);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

TEST(SymbolicFuzz, RandomGraphsComputeTheSameAsWithConstants) {
  const auto toolchain = toolchain::system_toolchain();
  const auto first = environment("ANTEGRAD_FUZZ_SEED", 1), count = environment("ANTEGRAD_FUZZ_GRAPHS", 40);
  for (auto seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto graph = RandomSymbolic(static_cast<uint64_t>(seed)).make();
    auto settings = all_settings();
    settings.fuse = seed % 5 != 0;
    const CompiledProgram compiled(graph, *toolchain, toolchain::detect_isa(), settings);
    for (const auto& values :
         std::vector<std::vector<int64_t>>{{1, 1}, {2, 1}, {1, 5}, {7, 3}, {16, 17}, {33, 12}}) {
      check_at(compiled, graph, values, 1e-3);
      if (!::testing::Test::HasFailure()) continue;
      for (const auto& kernel : compiled.program().kernels)
        ADD_FAILURE() << to_string(kernel) << codegen::cpu::kernel_source(kernel);
      return;
    }
  }
}

}  // namespace
}  // namespace antegrad::schedule
