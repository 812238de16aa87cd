// Compares random kernels with the interpreter of kernels. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_KERNELS
// choose other kernels.
#include <cstdlib>

#include "kernels/meanings.h"
#include "kernels/random_kernel.h"

namespace antegrad::schedule {
namespace {

int64_t environment(const char* name, int64_t otherwise) {
  const auto* text = std::getenv(name);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

TEST(KernelFuzz, RandomKernelsComputeWhatTheInterpreterComputes) {
  constexpr int64_t kTogether = 40;
  const auto toolchain = toolchain::system_toolchain();
  const auto isas = toolchain::runnable_isas();
  const auto first = environment("ANTEGRAD_FUZZ_SEED", 1), count = environment("ANTEGRAD_FUZZ_KERNELS", 240);
  for (int64_t seed = first; seed < first + count; seed += kTogether) {
    std::deque<Case> cases;
    for (int64_t i = 0; i < kTogether; ++i)
      cases.push_back(RandomKernel(static_cast<uint64_t>(seed + i)).make());
    const auto isa = isas[seed / kTogether % isas.size()];
    SCOPED_TRACE(fmt::format("seeds from {}, {}", seed, toolchain::isa_name(isa)));
    check_all(std::move(cases), meanings(), *toolchain, isa);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace antegrad::schedule
