// Frozen functions in the cache: code is found again, and computes its constants from the tensors of its
// process.
#include "cache_fixture.h"
#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using FreezeCache = CacheTest;

TEST_F(FreezeCache, IsValidForOtherContents) {
  const torch::NoGradGuard no_grad;
  Options options;
  options.freeze = true;
  const auto x = torch::randn({4, 6});
  for (int process = 0; process < 3; ++process) {
    const auto weight = torch::randn({6, 3});
    const auto function = [&](const Tensor& x) { return x.matmul(weight.sin()).tanh(); };
    const auto compiled = compile(function, options);
    EXPECT_TRUE(same(function(x), compiled(x)));
    EXPECT_EQ(compiled.report().cache, process == 0 ? counts(0, 1) : counts(1, 0));
    weight.mul_(0.5);
    EXPECT_TRUE(same(function(x), compiled(x)));
    EXPECT_EQ(compiled.report().cache.hits, process == 0 ? 1u : 2u) << "captured again, not compiled again";
  }
}

TEST_F(FreezeCache, FrozenAndUnfrozenCodeAreApart) {
  const torch::NoGradGuard no_grad;
  const auto weight = torch::randn({6, 3}), x = torch::randn({4, 6});
  const auto function = [&](const Tensor& x) { return x.matmul(weight.sin()).tanh(); };
  for (bool freeze : {true, false, true}) {
    Options options;
    options.freeze = freeze;
    const auto compiled = compile(function, options);
    EXPECT_TRUE(same(function(x), compiled(x)));
    EXPECT_EQ(compiled.report().frozen, freeze ? 1u : 0u);
  }
}

}  // namespace
}  // namespace antegrad::test
