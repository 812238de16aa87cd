// Changing sizes through the cache: guarded entries, and what a new process knows from the first call on.
#include "cache_fixture.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using CacheSizes = CacheTest;

Tensor chain(const std::vector<Tensor>& x) { return at::softmax(x[0].sin(), 1) * x[0] + x[0].size(0); }

Results run(const Compiled<decltype(&chain)>& compiled, int64_t rows) {
  return train(compiled, {torch::randn({rows, 5})});
}

// AOC-02, AOC-06, GCC-23
TEST_F(CacheSizes, ANewFunctionKnowsTheSymbolsOfAnOldOne) {
  const auto first = compile(&chain);
  run(first, 8);
  run(first, 16);
  run(first, 24);
  EXPECT_EQ(first.report().captures, 2u) << "8 alone, then any size";
  EXPECT_EQ(first.report().cache, counts(0, 4));
  ASSERT_TRUE(flush_cache());

  const auto second = compile(&chain);
  const auto x = torch::randn({37, 5});
  expect_same(train(chain, {x}), train(second, {x}));
  EXPECT_EQ(second.report().captures, 1u) << "it is dynamic from the first call on";
  EXPECT_EQ(second.report().cache, counts(2, 0));
  run(second, 41);
  EXPECT_EQ(second.report().captures, 1u);

  const auto third = compile(&chain);
  const auto y = torch::randn({8, 5});
  expect_same(train(chain, {y}), train(third, {y}));
  EXPECT_EQ(third.report().cache, counts(2, 0)) << "the entry for 8 alone";
  run(third, 9);
  EXPECT_EQ(third.report().cache, counts(4, 0)) << "and the one for any size";
}

Tensor branches(const std::vector<Tensor>& x) { return x[0].size(0) > 5 ? x[0].sin() : x[0].cos(); }

// GCC-08
TEST_F(CacheSizes, EntriesAreNotUsedWhereTheFunctionDoesSomethingElse) {
  const auto first = compile(&branches);
  for (int64_t rows : {8, 16, 24}) first(std::vector<Tensor>{torch::randn({rows})});
  ASSERT_TRUE(flush_cache());
  const auto second = compile(&branches);
  for (int64_t rows : {3, 30, 4, 31}) {
    const auto x = torch::randn({rows});
    EXPECT_TRUE(at::allclose(second(std::vector<Tensor>{x}), branches({x}), 1e-5, 1e-6)) << rows;
  }
  EXPECT_GT(second.report().cache.hits, 0u);
  EXPECT_GT(second.report().cache.misses, 0u);
}

TEST_F(CacheSizes, AMarkedRangeOfSizesHasOneEntry) {
  Options options;
  options.dynamic_sizes = {dynamic(0, 0, 8, 64)};
  const auto first = compile(&chain, options);
  run(first, 16);
  ASSERT_TRUE(flush_cache());
  const auto second = compile(&chain, options);
  run(second, 64);
  EXPECT_EQ(second.report().cache, counts(2, 0));
}

// GCC-07
TEST_F(CacheSizes, FixedSizesHaveAnEntryEach) {
  Options options;
  options.dynamic = Dynamic::None;
  for (const bool known : {false, true}) {
    const auto compiled = compile(&chain, options);
    for (int64_t rows : {3, 4, 5}) run(compiled, rows);
    EXPECT_EQ(compiled.report().cache, known ? counts(6, 0) : counts(0, 6));
  }
}

// AOC-07
TEST_F(CacheSizes, AMarkOfASizeThatStaysFixedDoesNotMiss) {
  const auto product = [](const Tensor& x) { return x.reshape({3, 4}) * 2; };  // only 12 elements fit
  const auto x = torch::randn({12});
  compile(product)(x);
  ASSERT_TRUE(flush_cache());
  Options options;
  options.dynamic_sizes = {dynamic(0, 0)};
  const auto marked = compile(product, options);
  EXPECT_TRUE(at::allclose(marked(x), product(x)));
  EXPECT_EQ(marked.report().cache, counts(1, 0));
}

}  // namespace
}  // namespace antegrad::test
