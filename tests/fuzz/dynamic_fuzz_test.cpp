// Random programs called with many sizes, against eager LibTorch. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT
// (of programs) search other seeds, and longer. ANTEGRAD_TEST_VERBOSE reports why programs are compiled more
// than once.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "fuzz/driver.h"
#include "fuzz/dynamic_check.h"
#include "fuzz/rng.h"
#include "fuzz/script.h"
#include "support/closeness.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

constexpr uint64_t kPrograms = 40, kCompiledPrograms = 14;  // `make fuzz` checks more
/// The most captures of a program that counts as dynamic: one for the first call and a few for all other
/// sizes.
constexpr uint64_t kFewCaptures = 3;

/// Suppresses LibTorch's warnings about degenerate sizes, which are intended here.
struct Silence final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

Options options_for(uint64_t seed) {
  static const std::vector<Policy> kPolicies{MinCut{},  MinCut{},       MinCut{},
                                             SaveAll{}, RecomputeAll{}, MemoryBudget::fraction(0.3)};
  Rng rng(seed + 1);
  Options options;
  options.max_versions = 1000;
  options.policy = rng.pick(kPolicies);
  if (rng.percent(15)) options.dynamic = Dynamic::All;
  return options;
}

/// Counts of what became of the programs.
struct Tally {
  uint64_t programs = 0, dynamic = 0, refused = 0, failures = 0, forward_checks = 0;
};

void explain(const DynamicProgram& program, const DynamicResult& result) {
  std::cerr << "  " << result.usual_captures << " captures at sizes of at least 2, " << result.report.captures
            << " in all, eager threw in " << result.eager_threw << "\n";
  for (const auto& reason : result.report.fixed_sizes) std::cerr << "  fixed: " << reason << "\n";
  for (const auto& reason : result.report.recapture_reasons) std::cerr << "  again: " << reason << "\n";
  if (!result.refusal.empty()) std::cerr << "  refused: " << result.refusal << "\n";
}

std::string as_cpp(const DynamicProgram& program, const Options& options) {
  Script script;
  const auto result = check_dynamic(program, options);
  return script.program(c10::str("Seed ", program.seed, ": ", result.difference.value_or("no difference")),
                        options.dynamic == Dynamic::All ? "options.dynamic = antegrad::Dynamic::All;\n" : "");
}

Tally fuzz(uint64_t first, uint64_t count) {
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  const auto most_checks = static_cast<int>(from_environment("ANTEGRAD_FUZZ_SHRINK", 200));
  const bool verbose = std::getenv("ANTEGRAD_TEST_VERBOSE") != nullptr;
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  Tally tally;
  for (uint64_t seed = first; seed < first + count && tally.failures < most_failures; ++seed) {
    const auto program = generate_dynamic(seed);
    if (program.outputs.empty()) continue;
    if (verbose) std::cerr << "seed " << seed << "\n";
    const auto options = options_for(seed);
    const auto result = check_dynamic(program, options);
    ++tally.programs;
    tally.refused += result.refusal.empty() ? 0 : 1;
    tally.forward_checks += result.report.forward_checks;
    tally.dynamic += result.usual_captures <= kFewCaptures ? 1 : 0;
    if (verbose && (result.usual_captures > kFewCaptures || !result.refusal.empty()))
      explain(program, result);
    if (!result.difference) continue;
    ++tally.failures;
    const auto small = shrink_dynamic(program, options, most_checks);
    ADD_FAILURE() << "seed " << seed << ", " << *result.difference << "\nshrunk: "
                  << check_dynamic(small, options).difference.value_or("no difference any more") << "\n"
                  << to_string(small) << saved("dynamic", seed, as_cpp(small, options));
  }
  say_checked("dynamic", tally.programs, tally.failures);
  if (verbose)
    std::cerr << tally.programs << " programs, " << tally.dynamic << " dynamic, " << tally.refused
              << " refused\n";
  return tally;
}

TEST(DynamicFuzz, ManySizesOfManyPrograms) {
  const auto tally = fuzz(0, test::runs_libtorch_kernels() ? kPrograms : kCompiledPrograms);
  RecordProperty("dynamic", static_cast<int>(tally.dynamic));
  if (tally.failures > 0) return;
  EXPECT_GE(tally.dynamic * 100, tally.programs * 60) << tally.dynamic << " of " << tally.programs;
  EXPECT_GE(tally.forward_checks, tally.programs);
  EXPECT_LE(tally.refused * 100, tally.programs * 5) << tally.refused << " of " << tally.programs;
}

TEST(FreshDynamicFuzz, Programs) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  if (!test::missing_device().empty()) GTEST_SKIP() << test::missing_device();
  RecordProperty("first_seed", std::to_string(seeds->first));
  fuzz(seeds->first, seeds->count);
}

}  // namespace
}  // namespace antegrad::fuzz
