// With ANTEGRAD_TEST_COMPILED_AUTOGRAD=1 every backward pass of a test program's main thread is compiled.
#include <antegrad/grad.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "support/device.h"

namespace antegrad::test {
namespace {

class Switch : public ::testing::Environment {
 public:
  void SetUp() override { compiled_autograd::enable(); }
  void TearDown() override {
    compiled_autograd::disable();
    const auto stats = compiled_autograd::stats();
    // A run whose device is missing has no passes.
    if (device().is_cpu() || stats.passes > 0) EXPECT_GT(stats.passes, stats.eager) << "nothing was compiled";
  }
};

const bool kOn = [] {
  const char* value = std::getenv("ANTEGRAD_TEST_COMPILED_AUTOGRAD");
  const bool on = value != nullptr && std::string_view(value) == "1";
  if (on) ::testing::AddGlobalTestEnvironment(new Switch());
  return on;
}();

}  // namespace
}  // namespace antegrad::test
