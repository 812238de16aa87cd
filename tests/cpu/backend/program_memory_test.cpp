// Where values of programs are stored, and for how long.
#include <gtest/gtest.h>

#include "cpu/backend/backend_programs.h"
#include "runtime/memory_plan.h"
#include "runtime/memory_pool.h"
#include "runtime/overwrite.h"
#include "runtime/placement.h"
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

TEST(Overwrite, OnlyTheSameElementInTheSameIteration) {
  const auto plain = flat_kernel("k", 1, 10);
  EXPECT_TRUE(runtime::may_overwrite(plain, 0, 1));
  auto shifted = plain;
  shifted.sections[0].ops[0].address.offset = 1;
  EXPECT_FALSE(runtime::may_overwrite(shifted, 0, 1));
  auto late = plain;
  std::swap(late.sections[0].ops[0], late.sections[0].ops[1]);
  EXPECT_FALSE(runtime::may_overwrite(late, 0, 1));
  auto again = plain;  // a later section reads what the first has overwritten
  again.sections.push_back({{0}, {access(schedule::OpCode::Load, 0)}});
  EXPECT_FALSE(runtime::may_overwrite(again, 0, 1));
  auto broadcast = plain;  // the outer loop visits the same elements again
  broadcast.loops.push_back(5);
  broadcast.outer = {1};
  EXPECT_FALSE(runtime::may_overwrite(broadcast, 0, 1));
  auto wide = plain;
  wide.buffers[1].dtype = ir::DType::F64;
  EXPECT_FALSE(runtime::may_overwrite(wide, 0, 1));
  auto indirect = plain;
  indirect.sections[0].ops[0].indirect.push_back({0, 1, 10, true});
  EXPECT_FALSE(runtime::may_overwrite(indirect, 0, 1));
  EXPECT_TRUE(runtime::may_fail(indirect));
  EXPECT_FALSE(runtime::may_fail(plain));
}

/// Rows of 8: sections that read a row of buffer 0 and write it to buffer 1.
schedule::Kernel row_kernel() {
  auto kernel = flat_kernel("rows", 1, 8);
  kernel.loops = {8, 5, 8};
  kernel.outer = {1};
  const schedule::Affine row{0, {{0, 1}, {1, 8}}}, row_again{0, {{1, 8}, {2, 1}}};
  kernel.sections = {
      {{2}, {access(schedule::OpCode::Load, 0, row_again)}},
      {{0}, {access(schedule::OpCode::Load, 0, row), access(schedule::OpCode::Store, 1, row)}}};
  return kernel;
}

TEST(Overwrite, RowsThatAreReadFirstAndThenWritten) {
  EXPECT_TRUE(runtime::may_overwrite(row_kernel(), 0, 1));
  auto first_only = row_kernel();  // one element of each row is read ahead, the others are not read
  first_only.sections[0] = {{}, {access(schedule::OpCode::Load, 0, {0, {{1, 8}}})}};
  first_only.sections[1].ops.erase(first_only.sections[1].ops.begin());
  EXPECT_TRUE(runtime::may_overwrite(first_only, 0, 1));
  auto late = row_kernel();
  std::swap(late.sections[0], late.sections[1]);
  EXPECT_FALSE(runtime::may_overwrite(late, 0, 1));
  auto other_row = row_kernel();  // the row of the next unit
  other_row.sections[0].ops[0].address.offset = 8;
  EXPECT_FALSE(runtime::may_overwrite(other_row, 0, 1));
  auto column = row_kernel();
  column.sections[0].ops[0].address = {0, {{1, 1}, {2, 8}}};
  EXPECT_FALSE(runtime::may_overwrite(column, 0, 1));
  auto all = row_kernel();  // every unit reads the first row
  all.sections[0].ops[0].address = {0, {{2, 1}}};
  EXPECT_FALSE(runtime::may_overwrite(all, 0, 1));
  auto longer = row_kernel();  // reads into the next row
  longer.loops[2] = 9;
  EXPECT_FALSE(runtime::may_overwrite(longer, 0, 1));
  auto no_units = row_kernel();  // threads share one section while each runs all of the other
  no_units.outer.clear();
  EXPECT_FALSE(runtime::may_overwrite(no_units, 0, 1));
}

TEST(MemoryPlan, BlocksThatAreNeededAtOnceDoNotOverlap) {
  uint64_t state = 7;
  auto random = [&](int64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(below));
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<runtime::Block> blocks;
    for (int i = 0; i < 60; ++i) {
      const auto begin = static_cast<int32_t>(random(100));
      blocks.push_back({random(5000), begin, begin + static_cast<int32_t>(random(20))});
    }
    const auto plan = runtime::plan_memory(blocks);
    std::vector<int64_t> live(130);
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % runtime::kAlignment, 0);
      EXPECT_LE(plan.offsets[a] + blocks[a].bytes, plan.bytes);
      for (auto t = blocks[a].begin; t <= blocks[a].end; ++t) live[static_cast<size_t>(t)] += blocks[a].bytes;
      for (size_t b = 0; b < a; ++b) {
        if (blocks[a].begin > blocks[b].end || blocks[b].begin > blocks[a].end) continue;
        EXPECT_TRUE(plan.offsets[a] + blocks[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + blocks[b].bytes <= plan.offsets[a] || blocks[a].bytes == 0 ||
                    blocks[b].bytes == 0);
      }
    }
    EXPECT_LE(plan.bytes, *std::max_element(live.begin(), live.end()) * 3 / 2);
  }
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
