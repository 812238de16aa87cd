// Random programs with gradients, compiled and eager, must not differ in any way that gradient_check.h lists.
//
// Rows that these programs reach, gradients of first and second order included: ALI-01, ALI-04, ALI-08,
// ALI-10, ALI-11, ALI-14, ALI-15, ALI-16, ALI-21, ALI-25, ALI-29, ALI-30, ALI-32, ALI-49.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <random>

#include "fuzz/gradient_check.h"
#include "fuzz/shrink.h"

namespace antegrad::fuzz {
namespace {

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

/// What is kept for the backward pass must not show.
Options options_for(uint64_t seed) {
  Options options;
  if (seed % 4 == 1) options.policy = SaveAll{};
  if (seed % 4 == 2) options.policy = RecomputeAll{};
  options.backward_ahead = seed % 5 == 0;
  return options;
}

GradientResult result_of(const Program& program) {
  return check_gradients(program, [&](Fn function) -> Fn {
    return antegrad::compile(std::move(function), options_for(program.seed));
  });
}

GeneratorConfig with_gradients() {
  GeneratorConfig config;
  config.gradients = true;
  config.max_statements = 14;
  return config;
}

/// The difference without its numbers: a smaller program must still fail in the same way.
std::string kind_of(const GradientResult& result) {
  std::string text = result.difference.value_or("").substr(0, 120);
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) || c == '.' || c == '-'; });
  return text;
}

void report(const Program& program, const GradientResult& result) {
  const Program small = shrink(
      program, [&](const Program& p) { return kind_of(result_of(p)) == kind_of(result); }, 800);
  ADD_FAILURE() << "seed " << program.seed << " differs from eager: " << *result.difference
                << "\nshrunk program: " << result_of(small).difference.value_or("no difference any more")
                << "\n"
                << to_string(small);
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// What many programs gave.
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

  /// A check that ends early everywhere would find nothing.
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
  int first_order_ = 0, second_order_ = 0;  ///< programs that came so far, with gradients to compare
  std::map<std::string, int> reasons_;
};

/// A few failures are enough to see a pattern, and shrinking takes time.
void fuzz(uint64_t first_seed, uint64_t count) {
  int failures = 0;
  Tally tally;
  for (uint64_t seed = first_seed; seed < first_seed + count && failures < 3; ++seed) {
    const Program program = generate(seed, with_gradients());
    const GradientResult result = result_of(program);
    tally.add(result);
    if (!result.difference) continue;
    report(program, result);
    ++failures;
  }
  tally.expect_meaning();
}

TEST(GradientFuzz, Seeds0To1999) { fuzz(0, 2000); }
TEST(GradientFuzz, Seeds2000To3999) { fuzz(2000, 2000); }
TEST(GradientFuzz, Seeds4000To5999) { fuzz(4000, 2000); }

/// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT repeat a failure or search longer.
TEST(GradientFuzz, FreshSeeds) {
  const uint64_t first = from_environment("ANTEGRAD_FUZZ_SEED", std::random_device{}());
  const uint64_t count = from_environment("ANTEGRAD_FUZZ_COUNT", 0);
  RecordProperty("first_seed", std::to_string(first));
  fuzz(first, count);
}

}  // namespace
}  // namespace antegrad::fuzz
