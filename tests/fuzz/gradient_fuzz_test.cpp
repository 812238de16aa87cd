// Random programs with gradients, compiled and eager, must not differ in any way that gradient_check.h lists.
//
// Behaviours that these programs cover, gradients of first and second order included: ALI-01, ALI-04, ALI-08,
// ALI-10, ALI-11, ALI-14, ALI-15, ALI-16, ALI-21, ALI-25, ALI-29, ALI-30, ALI-32, ALI-49.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>

#include "fuzz/driver.h"
#include "fuzz/gradient_check.h"
#include "fuzz/script.h"
#include "fuzz/shrink.h"
#include "fuzz/ways.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

/// Varies options that must not change results, such as what is saved for the backward pass.
Options options_for(uint64_t seed) {
  Options options;
  if (seed % 4 == 1) options.policy = SaveAll{};
  if (seed % 4 == 2) options.policy = RecomputeAll{};
  options.backward_ahead = seed % 5 == 0;
  // Matrices are tiny here: without this pass their products are extern calls, which read what kernels left
  // in planned memory.
  if (seed % 3 == 0) options.disabled_passes = {"small_matmul"};
  options.debug_compare = seed % 7 == 0;
  options.verify = true;
  return options;
}

GradientResult result_of(const Program& program, Way way) {
  return check_gradients(program, [&](Fn function) -> Fn {
    return compile_in(way, std::move(function), options_for(program.seed));
  });
}

std::string as_cpp(const Program& program, Way way) {
  std::string options = options_text(way);
  if (program.seed % 4 == 1) options += "options.policy = antegrad::SaveAll{};\n";
  if (program.seed % 4 == 2) options += "options.policy = antegrad::RecomputeAll{};\n";
  if (program.seed % 5 == 0) options += "options.backward_ahead = true;\n";
  Script script;
  const auto result = result_of(program, way);
  return script.program(c10::str("Seed ", program.seed, ": ", result.difference.value_or("no difference")),
                        options);
}

GeneratorConfig with_gradients() {
  GeneratorConfig config;
  config.gradients = true;
  config.max_statements = 14;
  return config;
}

/// Known gaps: gradients of writes that reach no element of an output; and histories of inputs that no result
/// depends on are visited (here those of an uncompiled call that wrote to a captured tensor).
bool is_known_gap(const Program& program, const GradientResult& result, Way way) {
  if (!result.difference) return false;
  const auto says = [&](const char* what) { return result.difference->find(what) != std::string::npos; };
  if (way == Way::Background && says("call 2") && says("modified by an inplace operation"))
    return std::any_of(program.tensors.begin(), program.tensors.end(),
                       [](const TensorSpec& spec) { return spec.captured && spec.non_leaf; });
  // Second derivatives of a part need its arguments, which the function may have written since; and a
  // backward pass visits the histories of all arguments of a part.
  if (way == Way::Break && says("only compiled threw") && says("modified by an inplace operation"))
    return true;
  if (!says("is defined only") && !says("requires grad only")) return false;
  const at::AutoGradMode mode(!program.called_without_grad);
  const World world = make_world(program);
  for (const at::Tensor& output : run(program, world.inputs, world.captured))
    if (output.defined() && output.numel() == 0) return true;
  return false;
}

/// Returns the difference without its numbers: a smaller program must fail in the same way.
std::string kind_of(const GradientResult& result) {
  std::string text = result.difference.value_or("").substr(0, 120);
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) || c == '.' || c == '-'; });
  return text;
}

void report(const Program& program, const GradientResult& result, const char* family, Way way) {
  const Program small = shrink(
      program, [&](const Program& p) { return kind_of(result_of(p, way)) == kind_of(result); }, 800);
  ADD_FAILURE() << "seed " << program.seed << " differs from eager: " << *result.difference
                << "\nshrunk program: " << result_of(small, way).difference.value_or("no difference any more")
                << "\n"
                << to_string(small) << saved(family, program.seed, as_cpp(small, way));
}

/// Counts of what became of the programs.
class Tally {
 public:
  void add(const GradientResult& result) {
    ++programs_;
    first_order_ += result.first_order > 0;
    second_order_ += result.second_order > 0;
    if (!result.refusal) return;
    ++refused_;
    ++reasons_[*result.refusal];
  }

  /// Most checks must get as far as gradients: a check that always ended early would find nothing.
  void expect_meaning() const {
    EXPECT_LE(refused_, 2 + programs_ * kRefusedPercent / 100) << reasons();
    EXPECT_GE(first_order_, programs_ / 2) << reasons();
    EXPECT_GE(second_order_, programs_ / 4) << reasons();
  }

 private:
  static constexpr int kRefusedPercent = 6;

  std::string reasons() const {
    std::string text;
    for (const auto& [reason, count] : reasons_) text += std::to_string(count) + " x " + reason + "\n";
    return text;
  }

  int programs_ = 0, refused_ = 0;
  int first_order_ = 0, second_order_ = 0;  ///< programs that got that far, with gradients to compare
  std::map<std::string, int> reasons_;
};

/// Stops after a few failures: shrinking takes time.
void fuzz(const char* family, Seeds seeds, Way way = Way::Plain) {
  const auto most_failures = from_environment("ANTEGRAD_FUZZ_FAILURES", 3);
  uint64_t failures = 0, checked = 0;
  Tally tally;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < most_failures; ++seed) {
    const Program program = generate(seed, with_gradients());
    const GradientResult result = result_of(program, way);
    tally.add(result);
    ++checked;
    if (!result.difference || is_known_gap(program, result, way)) continue;
    report(program, result, family, way);
    ++failures;
  }
  say_checked(family, checked, failures);
  if (checked >= 100) tally.expect_meaning();
}

void fuzz_fresh(const char* family, Way way = Way::Plain) {
  const auto seeds = fresh_seeds();
  if (!seeds) GTEST_SKIP() << "ANTEGRAD_FUZZ_COUNT=n searches among n";
  if (!test::missing_device().empty()) GTEST_SKIP() << test::missing_device();
  ::testing::Test::RecordProperty("first_seed", std::to_string(seeds->first));
  fuzz(family, *seeds, way);
}

TEST(GradientFuzz, Seeds0To399) { fuzz("gradient", {0, 400}); }
TEST(GradientFuzz, Seeds400To1999) { fuzz("gradient", {400, 1600}); }
TEST(GradientFuzz, Seeds2000To3999) { fuzz("gradient", {2000, 2000}); }
TEST(GradientFuzz, EagerFallback) { fuzz("gradient_fallback", {6000, 200}, Way::Fallback); }
TEST(GradientFuzz, InBackground) { fuzz("gradient_background", {7000, 40}, Way::Background); }
TEST(GradientFuzz, InParts) { fuzz("gradient_parts", {8000, 100}, Way::Break); }

/// Fresh programs that differed from eager, once.
TEST(GradientFuzz, SeedsThatDiffered) {
  for (const uint64_t seed : {442309181, 456808088, 1046592014, 239070099}) fuzz("gradient", {seed, 1});
  for (const uint64_t seed : {442309181, 456808088}) fuzz("gradient_background", {seed, 1}, Way::Background);
}

// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT repeat a failure or search longer.
TEST(FreshGradientFuzz, Programs) { fuzz_fresh("gradient"); }
TEST(FreshGradientFuzz, EagerFallback) { fuzz_fresh("gradient_fallback", Way::Fallback); }
TEST(FreshGradientFuzz, InBackground) { fuzz_fresh("gradient_background", Way::Background); }
TEST(FreshGradientFuzz, InParts) { fuzz_fresh("gradient_parts", Way::Break); }

}  // namespace
}  // namespace antegrad::fuzz
