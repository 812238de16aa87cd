// Random programs, compiled and eager, must not differ in any way that check.h lists.
//
// Rows that these programs reach, as far as values, aliasing and versions go (there are no gradients here):
// ALI-01, ALI-02, ALI-04, ALI-05, ALI-08, ALI-10, ALI-11, ALI-15, ALI-16, ALI-21, ALI-22, ALI-23, ALI-29,
// ALI-30, ALI-31, ALI-34, ALI-35, ALI-36, ALI-37, ALI-40, ALI-41, ALI-42, ALI-43, ALI-46, ALI-48. With the
// metadata switches also ALI-06, ALI-07, ALI-17, ALI-18, ALI-24, ALI-33, ALI-39.
#include <ATen/Parallel.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "fuzz/check.h"
#include "fuzz/shrink.h"

namespace antegrad::fuzz {
namespace {

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

Fn compile_under_test(Fn function) { return antegrad::compile(std::move(function)); }

/// Some programs are refused with a message, such as writing to an expanded tensor through a view of another
/// dtype.
bool is_refusal(const std::string& difference) {
  return difference.find("compiled call threw: [functionalize") != std::string::npos ||
         difference.find("compiled call threw: [capture") != std::string::npos;
}

std::optional<std::string> difference_of(const Program& program) {
  CheckOptions options;
  options.unit_strides = false;  // out= gives empty tensors other strides on the meta device than on the CPU
  const bool has_set = to_string(program).find("set_(") != std::string::npos;
  options.views = !has_set;
  options.short_floats = to_string(program).find("BFloat16") != std::string::npos;
  try {
    auto difference = check(program, compile_under_test, options);
    // After set_ a tensor keeps its version counter and its base, which a view made anew does not have.
    if (difference && has_set && difference->find("_version()") != std::string::npos) return std::nullopt;
    return difference;
  } catch (const std::exception& error) {
    return std::string("compile() threw: ") + message_of(error);
  }
}

void report(const Program& program, const std::string& difference) {
  const Program small =
      shrink(program, [](const Program& candidate) { return difference_of(candidate).has_value(); });
  ADD_FAILURE() << "seed " << program.seed << " differs from eager: " << difference
                << "\nshrunk program: " << difference_of(small).value_or("no difference any more") << "\n"
                << to_string(small);
}

/// A few failures are enough to see a pattern, and shrinking takes time.
void fuzz(uint64_t first_seed, uint64_t count, const GeneratorConfig& config = {}) {
  int failures = 0;
  uint64_t refused = 0;
  for (uint64_t seed = first_seed; seed < first_seed + count && failures < 3; ++seed) {
    const Program program = generate(seed, config);
    const auto difference = difference_of(program);
    if (!difference) continue;
    if (is_refusal(*difference)) {
      ++refused;
      continue;
    }
    report(program, *difference);
    ++failures;
  }
  EXPECT_LE(refused, 2 + count / 25) << "programs refused";
}

void fuzz_switch(bool GeneratorConfig::*on) {
  GeneratorConfig config;
  config.*on = true;
  config.requires_grad = false;  // resize_ refuses such tensors
  fuzz(0, 200, config);
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Fuzz, Seeds0To499) { fuzz(0, 500); }
TEST(Fuzz, Seeds500To999) { fuzz(500, 500); }
TEST(Fuzz, Seeds1000To1499) { fuzz(1000, 500); }
TEST(Fuzz, Seeds1500To1999) { fuzz(1500, 500); }
TEST(Fuzz, Seeds2000To2499) { fuzz(2000, 500); }

/// ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_COUNT repeat a failure or search longer.
TEST(Fuzz, FreshSeeds) {
  const uint64_t first = from_environment("ANTEGRAD_FUZZ_SEED", std::random_device{}());
  const uint64_t count = from_environment("ANTEGRAD_FUZZ_COUNT", 600);
  RecordProperty("first_seed", std::to_string(first));
  fuzz(first, count);
}

TEST(FuzzMetadata, Transpose) { fuzz_switch(&GeneratorConfig::transpose_inplace); }
TEST(FuzzMetadata, Squeeze) { fuzz_switch(&GeneratorConfig::squeeze_inplace); }
TEST(FuzzMetadata, Unsqueeze) { fuzz_switch(&GeneratorConfig::unsqueeze_inplace); }
TEST(FuzzMetadata, Resize) { fuzz_switch(&GeneratorConfig::resize_inplace); }
TEST(FuzzMetadata, Set) { fuzz_switch(&GeneratorConfig::set_inplace); }

}  // namespace
}  // namespace antegrad::fuzz
