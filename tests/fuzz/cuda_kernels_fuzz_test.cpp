// The kernels that programs of fusion_program.h would have on a CUDA device. Their text runs on the CPU
// (kernels/cuda_shim.h), with vectors and without, and both must give the same. ANTEGRAD_FUZZ_SEED and
// ANTEGRAD_FUZZ_COUNT (of programs) search other seeds; with AddressSanitizer (kernels/emulate.h) accesses
// outside of buffers end the test.
#include <ATen/ATen.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include "codegen/text/c_text.h"
#include "codegen/text/expression.h"
#include "fuzz/driver.h"
#include "fuzz/fusion_op.h"
#include "fuzz/fusion_program.h"
#include "ir/text.h"
#include "kernels/emulate.h"
#include "passes/pipelines.h"
#include "schedule/program.h"
#include "schedule/target.h"

namespace antegrad::fuzz {
namespace {

using schedule::CudaCase;

struct SilentWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

/// Returns what the program would run on a CUDA device, as graphs.
std::vector<ir::Graph> graphs_on_cuda(const FusionProgram& program, bool gradients) {
  const at::AutoGradMode with_history(gradients);
  Options options;
  options.cache = Cache::Off;
  options.backend = Backend::Eager;  // nothing is compiled for the CPU
  auto compiled = compile([&](const Tensors& inputs) { return run(program, inputs); }, options);
  Tensors inputs;
  for (const auto& input : inputs_of(program))
    inputs.push_back(gradients && is_floating(input) ? input.detach().requires_grad_(true) : input);
  const auto explanation = compiled.explain(inputs);
  std::vector<ir::Graph> graphs;
  for (const auto& text : {explanation.forward, explanation.backward}) {
    if (text.empty()) continue;
    graphs.push_back(ir::parse(text));
    passes::run_pipeline(graphs.back(), passes::passes_of("before_fusion"), {});
    for (auto& value : graphs.back().values)
      if (auto* type = value.type.tensor()) type->device = {ir::Device::Kind::Cuda, 0};
  }
  return graphs;
}

/// Adds each kernel twice, with vectors and aligned memory and without both, with the same random contents of
/// its buffers. These are not the numbers of the program: an index may be out of range.
void add_cases(const ir::Graph& graph, uint64_t seed, std::deque<CudaCase>& cases) {
  schedule::Settings settings;
  settings.supports = codegen::expression_supported;
  schedule::DeviceFacts facts;
  constexpr int32_t kSizes[] = {132, 1, 16};
  facts.multiprocessors = kSizes[seed % 3];
  settings.cuda = schedule::cuda_target(facts);
  std::mt19937_64 random(seed);
  for (const auto& kernel : schedule::schedule(graph, settings).kernels) {
    auto test = schedule::make_case(kernel, random);
    test.tolerance = 1e-3;
    if (seed % 2 == 0)  // good indices
      for (size_t b = 0; b < kernel.buffers.size(); ++b)
        if (kernel.buffers[b].dtype == ir::DType::I64)
          for (auto& number : test.memory[b]) number.i = 0;
    for (const bool vectors : {true, false})
      cases.push_back({test, codegen::cuda::map_kernel(kernel, facts, vectors), vectors});
  }
}

void check_both(const CudaCase& one, const CudaCase& other, const schedule::EmulatedModule& module) {
  const auto expected = emulate(other, module.find(other.test.kernel.name), 3);
  const auto actual = emulate(one, module.find(one.test.kernel.name), 7);
  EXPECT_EQ(actual.error == 0, expected.error == 0) << describe(one);
  if (expected.error != 0) return;
  for (size_t b = 0; b < expected.memory.size(); ++b)
    if (one.test.kernel.buffers[b].kind == schedule::Buffer::Kind::Output)
      compare(one.test, b, actual.memory[b], expected.memory[b],
              [&] { return describe(one) + describe(other); });
}

void fuzz(uint64_t first, uint64_t count, bool hard, bool gradients) {
  constexpr uint64_t kTogether = 24;
  SilentWarnings silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  size_t kernels = 0;
  for (uint64_t seed = first; seed < first + count; seed += kTogether) {
    std::deque<CudaCase> cases;
    for (uint64_t i = seed; i < std::min(seed + kTogether, first + count); ++i) {
      const auto program = [&] {
        const at::NoGradGuard no_grad;
        return generate_fusion(i, hard);
      }();
      if (program.outputs.empty()) continue;
      for (const auto& graph : graphs_on_cuda(program, gradients)) add_cases(graph, i, cases);
    }
    const auto module = compile_emulated(cases);
    ASSERT_EQ(module->error(), "");
    SCOPED_TRACE(c10::str("seeds from ", seed));
    for (size_t i = 0; i < cases.size() && !::testing::Test::HasFailure(); i += 2)
      check_both(cases[i], cases[i + 1], *module);
    kernels += cases.size() / 2;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(kernels, count) << "most programs have kernels";
}

TEST(CudaKernelsFuzz, Programs) { fuzz(0, 24, false, false); }
TEST(CudaKernelsFuzz, Gradients) { fuzz(15'000, 12, false, true); }

void fuzz_fresh(bool hard, bool gradients) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  fuzz(seeds->first, seeds->count, hard, gradients);
}
TEST(FreshCudaKernelsFuzz, Programs) { fuzz_fresh(false, false); }
TEST(FreshCudaKernelsFuzz, HardNumbers) { fuzz_fresh(true, false); }
TEST(FreshCudaKernelsFuzz, Gradients) { fuzz_fresh(false, true); }

}  // namespace
}  // namespace antegrad::fuzz
