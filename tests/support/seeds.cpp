#include "support/seeds.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace antegrad::test {
namespace {

/// Seeds in tests are smaller than this, so those of two values of ANTEGRAD_TEST_SEED never coincide.
constexpr uint64_t kApart = 1'000'003;

class SeedsEveryTest : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    std::cout << "random numbers: ANTEGRAD_TEST_SEED=" << test_seed() << std::endl;
  }
  void OnTestStart(const ::testing::TestInfo&) override { manual_seed(0); }
};

const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new SeedsEveryTest());
  return true;
}();

}  // namespace

uint64_t test_seed() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("ANTEGRAD_TEST_SEED");
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  }();
  return seed;
}

void manual_seed(uint64_t number) { at::manual_seed(number + kApart * test_seed()); }

}  // namespace antegrad::test
