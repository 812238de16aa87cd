// Where values of programs are stored, and for how long.
#include <gtest/gtest.h>

#include "cpu/backend/backend_programs.h"
#include "runtime/memory_pool.h"
#include "runtime/plan/placement.h"
#include "support/closeness.h"

namespace antegrad::test {
namespace {

namespace pool = runtime::memory_pool;

constexpr int64_t kMany = 1 << 20;

HandMade chain() {
  HandMade made(R"(graph @f functional {
  in %0: f32[1048576] user
  %1: f32[1048576] = aten.add.Tensor(%0, %0)
  %2: f32[1048576] = aten.add.Tensor(%1, %0)
  %3: f32[1048576] = aten.add.Tensor(%2, %1)
  out %3 user
})");
  const auto k = made.kernel(flat_kernel("add", 2, kMany), add);
  made.run_kernel(k, {0, 0, 1}, kMany, 4096).run_kernel(k, {1, 0, 2}, kMany, 4096);
  made.run_kernel(k, {2, 1, 3}, kMany, 4096);
  return made;
}

TEST(ProgramMemory, LargeValuesAreThereWhileTheyAreNeeded) {
  pool::clear();
  const auto executable = chain().executable();
  const auto x = torch::randn({kMany});
  const auto before = pool::statistics();
  const auto result = run(executable, {x})[0];
  const auto after = pool::statistics();
  EXPECT_EQ(after.fresh, before.fresh + 2);  // %3 reuses the memory of %2
  EXPECT_EQ(after.used, before.used + static_cast<size_t>(kMany) * 4);
}

TEST(ProgramMemory, TheArenaEndsWhereNothingIsInIt) {
  HandMade made(R"(graph @f functional {
  in %0: f32[4000] user
  %1: f32[4000] = aten.add.Tensor(%0, %0)
  %2: f32[4000] = aten.sin(%1)
  %3: f32[4000] = aten.add.Tensor(%2, %2)
  %4: f32[4000] = aten.add.Tensor(%0, %0)
  %5: f32[4000] = aten.add.Tensor(%3, %4)
  out %5 user
})");
  const auto k = made.kernel(flat_kernel("add", 2, 4000), add);
  made.run_kernel(k, {0, 0, 1}, 4000, 4000).run_node(1).run_kernel(k, {2, 2, 3}, 4000, 4000);
  made.run_kernel(k, {0, 0, 4}, 4000, 4000).run_kernel(k, {3, 4, 5}, 4000, 4000);
  const auto placement = runtime::place(made.program);
  std::vector<int64_t> begins;
  std::vector<bool> ends;
  for (const auto& step : placement.steps) {
    begins.push_back(step.arena_begin);
    ends.push_back(step.arena_end);
  }
  EXPECT_EQ(begins, (std::vector<int64_t>{16000, 0, 32000, 0, 0}));
  EXPECT_EQ(ends, (std::vector<bool>{false, true, false, false, true}));
  EXPECT_EQ(placement.arena_bytes, 32000);
  const auto x = torch::randn({4000});
  EXPECT_TRUE(test::up_to_rounding((x + x).sin() * 2 + (x + x), run(made.executable(), {x})[0]));
}

TEST(MemoryPool, KeepsNoMoreThanWasInUseAtOnce) {
  pool::clear();
  constexpr size_t kBlock = 1 << 20;
  {
    auto a = pool::allocate(kBlock);
    auto b = pool::allocate(kBlock);
  }
  EXPECT_EQ(pool::statistics().kept, 2 * kBlock);
  const auto before = pool::statistics();
  {
    auto large = pool::allocate(3 * kBlock);  // no kept block fits, and they are freed to make room
    EXPECT_LE(pool::statistics().kept, before.used + 2 * kBlock);
  }
  auto about_as_large = pool::allocate(3 * kBlock - kBlock / 8);
  EXPECT_EQ(pool::statistics().fresh, before.fresh + 1);
  auto small = pool::allocate(kBlock / 2);
  EXPECT_EQ(pool::statistics().fresh, before.fresh + 2);
  pool::clear();
  EXPECT_EQ(pool::statistics().kept, 0U);
}

}  // namespace
}  // namespace antegrad::test
