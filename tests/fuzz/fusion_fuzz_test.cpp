// Random groups of ops that a backend fuses, against eager LibTorch and double precision.
// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT (of programs) search elsewhere, and longer.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "compiler/kernel_cache.h"
#include "fuzz/fusion_check.h"
#include "toolchain/isa.h"

namespace antegrad::fuzz {
namespace {

constexpr uint64_t kPrograms = 1240, kFewPrograms = 48;

/// LibTorch warns of degenerate sizes, which are wanted here.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void report(const FusionFailure& failure, const Options& options) {
  const auto small = shrink_fusion(failure.program, options);
  ADD_FAILURE() << failure.difference << "\nshrunk: "
                << check_fusion(small, options).value_or("no difference any more (with its neighbours only)")
                << "\n"
                << to_string(small);
}

/// What many programs gave.
struct Tally {
  uint64_t programs = 0, steps = 0, failures = 0;
};

/// Programs are compiled together: their kernels are compiled in parallel.
Tally fuzz(uint64_t first, uint64_t count, const Options& options) {
  constexpr uint64_t kTogether = 24;
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  const at::NoGradGuard no_grad;
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  Tally tally;
  for (uint64_t seed = first; seed < first + count && tally.failures < most_failures; seed += kTogether) {
    std::vector<FusionProgram> programs;
    for (uint64_t i = 0; i < kTogether && seed + i < first + count; ++i) {
      auto program = generate_fusion(seed + i);
      if (program.outputs.empty()) continue;
      tally.steps += program.steps.size();
      programs.push_back(std::move(program));
    }
    tally.programs += programs.size();
    for (const auto& failure : check_fusions(programs, options)) {
      ++tally.failures;
      report(failure, options);
    }
  }
  return tally;
}

uint64_t kernels() {
  const auto counts = compiler::kernel_counts();
  return counts.compiled + counts.found;
}

Options for_isa(Isa isa) {
  Options options;
  options.isa = isa;
  return options;
}

bool has(Isa isa) {
  const auto here = toolchain::detect_isa();
  return isa == Isa::Avx512 ? here >= toolchain::Isa::Avx512 : here >= toolchain::Isa::Avx2;
}

/// A fusion group is a kernel of a schedule::Program; those that an earlier function had too count again.
TEST(FusionFuzz, FiveThousandGroups) {
  const auto before = kernels();
  const auto tally = fuzz(0, kPrograms, {});
  RecordProperty("groups", static_cast<int>(kernels() - before));
  EXPECT_TRUE(tally.failures > 0 || kernels() - before >= 5000) << tally.programs << " programs";
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
  Options options;
  options.toolchain = ToolchainChoice::System;
  fuzz(13'000, kFewPrograms / 4, options);
}

/// Each op as a kernel of its own.
TEST(FusionFuzz, WithoutFusion) {
  Options options;
  options.backend = Backend::NoFuse;
  fuzz(14'000, kFewPrograms, options);
}

TEST(FusionFuzz, FreshSeeds) {
  if (std::getenv("ANTEGRAD_FUZZ_COUNT") == nullptr) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  const uint64_t first = from_environment("ANTEGRAD_FUZZ_SEED", std::random_device{}());
  const uint64_t count = from_environment("ANTEGRAD_FUZZ_COUNT", 48);
  RecordProperty("first_seed", std::to_string(first));
  fuzz(first, count, {});
}

}  // namespace
}  // namespace antegrad::fuzz
