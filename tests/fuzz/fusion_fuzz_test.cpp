// Random groups of ops that a backend fuses, against eager LibTorch and double precision. ANTEGRAD_FUZZ_SEED
// and ANTEGRAD_FUZZ_COUNT (of programs) search other seeds, and longer.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "compiler/cache/kernel_cache.h"
#include "fuzz/driver.h"
#include "fuzz/fusion_check.h"
#include "fuzz/script.h"
#include "support/device.h"
#include "toolchain/isa.h"

namespace antegrad::fuzz {
namespace {

constexpr uint64_t kPrograms = 300, kFewPrograms = 48;  // `make fuzz` checks more

/// Suppresses LibTorch's warnings about degenerate sizes, which are intended here.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

std::string as_cpp(const FusionProgram& program, const FusionWay& way) {
  Script script;
  const auto difference = check_fusion(program, way);
  return script.program(c10::str("Seed ", program.seed, ": ", difference.value_or("no difference")));
}

void report(const FusionFailure& failure, const FusionWay& way, const char* family) {
  const auto small = shrink_fusion(failure.program, way);
  ADD_FAILURE() << failure.difference << "\nshrunk: "
                << check_fusion(small, way).value_or("no difference any more (with its neighbours only)")
                << "\n"
                << to_string(small) << saved(family, failure.program.seed, as_cpp(small, way));
}

/// Counts of what became of the programs.
struct Tally {
  uint64_t programs = 0, steps = 0, failures = 0;
};

/// Compiles several programs as one function, so that their kernels are compiled in parallel.
Tally fuzz(uint64_t first, uint64_t count, const FusionWay& way, const char* family = "fusion") {
  constexpr uint64_t kTogether = 24;
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  Tally tally;
  for (uint64_t seed = first; seed < first + count && tally.failures < most_failures; seed += kTogether) {
    std::vector<FusionProgram> programs;
    for (uint64_t i = 0; i < kTogether && seed + i < first + count; ++i) {
      const at::NoGradGuard no_grad;
      auto program = generate_fusion(seed + i, way.hard);
      if (program.outputs.empty()) continue;
      tally.steps += program.steps.size();
      programs.push_back(std::move(program));
    }
    tally.programs += programs.size();
    for (const auto& failure : check_fusions(programs, way)) {
      ++tally.failures;
      report(failure, way, family);
    }
  }
  say_checked(family, tally.programs, tally.failures);
  return tally;
}

uint64_t kernels() {
  const auto counts = compiler::kernel_counts();
  return counts.compiled + counts.found;
}

FusionWay for_isa(Isa isa) {
  FusionWay way;
  way.options.isa = isa;
  return way;
}

FusionWay hard() {
  FusionWay way;
  way.hard = true;
  return way;
}

FusionWay with_gradients() {
  FusionWay way;
  way.gradients = true;
  return way;
}

bool has(Isa isa) {
  const auto here = toolchain::detect_isa();
  return isa == Isa::Avx512 ? here >= toolchain::Isa::Avx512 : here >= toolchain::Isa::Avx2;
}

/// A fusion group is a kernel of a schedule::Program; kernels shared with an earlier function count again.
TEST(FusionFuzz, ManyGroups) {
  const auto before = kernels();
  const auto tally = fuzz(0, kPrograms, {});
  RecordProperty("groups", static_cast<int>(kernels() - before));
  EXPECT_TRUE(tally.failures > 0 || kernels() - before >= 1080) << tally.programs << " programs";
}

TEST(FusionFuzz, Baseline) { fuzz(10'000, kFewPrograms, for_isa(Isa::Baseline)); }

TEST(FusionFuzz, Avx2) {
  if (!has(Isa::Avx2)) GTEST_SKIP() << "no AVX2 here";
  fuzz(11'000, kFewPrograms, for_isa(Isa::Avx2));
}

TEST(FusionFuzz, Avx512) {
  if (!has(Isa::Avx512)) GTEST_SKIP() << "no AVX-512 here";
  fuzz(12'000, kFewPrograms, for_isa(Isa::Avx512));
}

TEST(FusionFuzz, SystemCompiler) {
  FusionWay way;
  way.options.toolchain = ToolchainChoice::System;
  fuzz(13'000, kFewPrograms / 4, way);
}

/// Each op as a kernel of its own.
TEST(FusionFuzz, WithoutFusion) {
  FusionWay way;
  way.options.backend = Backend::NoFuse;
  fuzz(14'000, kFewPrograms, way);
}

TEST(FusionFuzz, Gradients) { fuzz(15'000, 2 * kFewPrograms, with_gradients(), "fusion_gradient"); }

void fuzz_fresh(const char* family, const FusionWay& way) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  if (!test::missing_device().empty()) GTEST_SKIP() << test::missing_device();
  ::testing::Test::RecordProperty("first_seed", std::to_string(seeds->first));
  fuzz(seeds->first, seeds->count, way, family);
}

TEST(FreshFusionFuzz, Programs) { fuzz_fresh("fusion", {}); }
TEST(FreshFusionFuzz, HardNumbers) { fuzz_fresh("fusion_hard", hard()); }
TEST(FreshFusionFuzz, Gradients) { fuzz_fresh("fusion_gradient", with_gradients()); }

}  // namespace
}  // namespace antegrad::fuzz
