// Which nodes are fused into one kernel.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "schedule/program.h"
#include "schedule/substitute.h"

namespace antegrad::schedule {
namespace {

Program program_of(const std::string& body, bool fuse = true, const std::string& symbols = {}) {
  Settings settings;
  settings.fuse = fuse;
  settings.supports = [](std::string_view, ir::DType) { return true; };
  return schedule(ir::parse("graph @g functional " + symbols + "{\n" + body + "}\n"), settings);
}

Program symbolic(const std::string& body) { return program_of(body, true, "[s0: 1.. ~ 50, s1: 1.. ~ 300] "); }

auto nodes_run(const Program& program) {
  return std::ranges::count_if(program.steps,
                               [](const Step& step) { return std::holds_alternative<RunNode>(step); });
}

constexpr const char* kChain = R"(
  in %0: f32[64,32] user
  %1: f32[64,32] = aten.exp(%0)
  %2: f32[64,32] = aten.mul.Tensor(%1, %0)
  out %2 user
)";

TEST(Schedule, ChainIsOneKernelOverOneLoop) {
  const auto program = program_of(kChain);
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.steps.size(), 1U);
  EXPECT_TRUE(program.kernels[0].outer.empty());
  EXPECT_EQ(units(program.kernels[0]), ir::Dim(64 * 32));
}

TEST(Schedule, WithoutFusionEveryOpIsAKernel) { EXPECT_EQ(program_of(kChain, false).steps.size(), 2U); }

TEST(Schedule, ViewsBetweenOpsCostNothing) {
  const auto program = program_of(R"(
  in %0: f32[6,4] user
  in %1: f32[4,6] user
  %2: f32[6,4] = aten.exp(%0)
  %3: f32[4,6]{1,4} &%2 = aten.t(%2)
  %4: f32[4,6] = aten.add.Tensor(%1, %3)
  %5: f32[24] &%4 = aten.view(%4, [24])
  %6: f32[2,2,6] &%4 = aten.view(%5, [2, 2, 6])
  %7: f32[2,2,6] = aten.neg(%6)
  out %7 user
)");
  EXPECT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(nodes_run(program), 0U);
}

TEST(Schedule, SoftmaxIsOneKernel) {
  const auto program = program_of(R"(
  in %0: f32[64,128] user
  %1: f32[64,1] = aten.amax(%0, [1], true)
  %2: f32[64,128] = aten.sub.Tensor(%0, %1)
  %3: f32[64,128] = aten.exp(%2)
  %4: f32[64,1] = aten.sum.dim_IntList(%3, [1], true)
  %5: f32[64,128] = aten.div.Tensor(%3, %4)
  out %5 user
)");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(units(program.kernels[0]), ir::Dim(64));
  EXPECT_EQ(program.kernels[0].lane, -1);
}

TEST(Schedule, ReductionOverASlowDimRunsInLanes) {
  const auto program = program_of(R"(
  in %0: f32[8,16,100] user
  %1: f32[8,1,100] = aten.amax(%0, [1], true)
  %2: f32[8,16,100] = aten.sub.Tensor(%0, %1)
  out %2 user
)");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_GE(program.kernels[0].lane, 0);
}

TEST(Schedule, ColumnSumsAreSinksOfTheKernelThatComputesTheirOperand) {
  const auto program = program_of(R"(
  in %0: f32[4096,64] user
  %1: f32[4096,64] = aten.exp(%0)
  %2: f32[64] = aten.sum.dim_IntList(%1, [0])
  %3: f32[4096,1] = aten.sum.dim_IntList(%1, [1], true)
  %4: f32[4096,64] = aten.div.Tensor(%1, %3)
  out %2 user
  out %4 user
)");
  ASSERT_EQ(program.kernels.size(), 2U);  // the second adds the chunks
  EXPECT_GT(program.kernels[0].chunks.constant(), 1);
}

TEST(Schedule, ReadInAnotherOrderIsReadFromMemory) {
  const auto program = program_of(R"(
  in %0: f32[32,32] user
  %1: f32[32,32] = aten.exp(%0)
  %2: f32[32,32]{1,32} &%1 = aten.t(%1)
  %3: f32[32,32] = aten.add.Tensor(%1, %2)
  out %3 user
)");
  EXPECT_EQ(program.steps.size(), 2U);
}

TEST(Schedule, NothingIsFusedAroundACallOfLibTorch) {
  const auto program = program_of(R"(
  in %0: f32[64,64] user
  %1: f32[64,64] = aten.exp(%0)
  %2: f32[64,64] = aten.mm(%1, %1)
  %3: f32[64,64] = aten.add.Tensor(%1, %2)
  out %3 user
)");
  ASSERT_EQ(program.steps.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<RunNode>(program.steps[1]));
}

TEST(Schedule, PartsOfAConcatenationAreStoredInPlace) {
  const auto program = program_of(R"(
  in %0: f32[8,3] user
  in %1: f32[8,5] user
  %2: f32[8,3] = aten.exp(%0)
  %3: f32[8,5] = aten.neg(%1)
  %4: f32[8,8] = aten.cat([%2, %3], 1)
  %5: f32[8,8] = aten.sigmoid(%4)
  out %5 user
)");
  EXPECT_EQ(program.steps.size(), 3U);
  EXPECT_EQ(nodes_run(program), 0U);
}

TEST(Schedule, WhatReadsTheWholeOfPartsComesAfterAllOfThem) {
  // Groups are not merged when one reads from memory what the other writes parts of.
  const auto program = program_of(R"(
  in %0: f32[8,4] user
  in %1: f32[8,8] user
  %2: f32[8,4] = aten.exp(%0)
  %3: f32[8,8] = aten.cat([%2, %0], 1)
  %4: f32[8,8] = aten.mul.Tensor(%3, %1)
  %5: f32[8,4]{8,1} &%4 = aten.slice.Tensor(%4, 1, 0, 4)
  %6: f32[8,4] = aten.add.Tensor(%2, %5)
  out %6 user
)");
  for (const auto& step : program.steps) {
    const auto* run = std::get_if<RunKernel>(&step);
    ASSERT_NE(run, nullptr);
    const auto& kernel = program.kernels[run->kernel];
    for (size_t b = 0; b < run->buffers.size(); ++b) {
      if (run->buffers[b] != ir::ValueId{3}) continue;
      // A kernel that writes to the concatenation does not read it.
      bool loads = false, stores = false;
      for (const auto& section : kernel.sections)
        for (const auto& op : section.ops) {
          if (op.buffer != static_cast<int32_t>(b)) continue;
          loads |= op.code == OpCode::Load;
          stores |= op.code == OpCode::Store;
        }
      EXPECT_FALSE(loads && stores);
    }
  }
}

TEST(Schedule, EqualGroupsAreOneKernel) {
  const auto program = program_of(R"(
  in %0: f32[64,64] user
  %1: f32[64,64] = aten.silu(%0)
  %2: f32[64,64] = aten.mm(%1, %1)
  %3: f32[64,64] = aten.silu(%2)
  %4: f32[64,64] = aten.mm(%3, %3)
  out %4 user
)");
  EXPECT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.steps.size(), 4U);
}

TEST(Schedule, EveryNodeThatLibTorchRunsHasAReason) {
  const auto program = program_of(R"(
  in %0: c64[4] user
  %1: c64[4] = aten.neg(%0)
  out %1 user
)");
  ASSERT_EQ(program.decisions.size(), 1U);
  EXPECT_EQ(program.decisions[0].what, "LibTorch");
  EXPECT_FALSE(program.decisions[0].why.empty());
}

// --- with symbols

TEST(SymbolicSchedule, LoopsAreJoinedAsWithConstants) {
  const auto program = symbolic(R"(
  in %0: f32[s0,s1,8] user
  in %1: f32[s0*s1,8] user
  %2: f32[s0,s1,8] = aten.exp(%0)
  %3: f32[s0*s1,8] &%2 = aten.view(%2, [s0*s1, 8])
  %4: f32[s0*s1,8] = aten.add.Tensor(%3, %1)
  %5: f32[s0,4*s1,2] &%4 = aten.view(%4, [s0, 4*s1, 2])
  %6: f32[s0,4*s1,2] = aten.neg(%5)
  out %6 user
)");
  ASSERT_EQ(program.steps.size(), 1U);
  EXPECT_EQ(units(program.kernels[0]).to_string(), "8*s0*s1");
}

TEST(SymbolicSchedule, ViewsThatSplitInAnotherWayAreReadFromMemory) {
  const auto program = symbolic(R"(
  in %0: f32[2*s0,3] user
  %1: f32[2*s0,3] = aten.exp(%0)
  %2: f32[3,2*s0] &%1 = aten.view(%1, [3, 2*s0])
  %3: f32[3,2*s0] = aten.neg(%2)
  out %3 user
)");
  EXPECT_EQ(program.steps.size(), 2U);
  EXPECT_EQ(nodes_run(program), 0U);
}

TEST(SymbolicSchedule, SoftmaxIsOneKernel) {
  const auto program = symbolic(R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,1] = aten.amax(%0, [1], true)
  %2: f32[s0,s1] = aten.sub.Tensor(%0, %1)
  %3: f32[s0,s1] = aten.exp(%2)
  %4: f32[s0,1] = aten.sum.dim_IntList(%3, [1], true)
  %5: f32[s0,s1] = aten.div.Tensor(%3, %4)
  out %5 user
)");
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.kernels[0].symbols, 2);
  EXPECT_EQ(std::get<RunKernel>(program.steps[0]).units.to_string(), "s0");
}

TEST(SymbolicSchedule, ChunksFollowTheSizes) {
  const auto program = symbolic(R"(
  in %0: f32[s1,64] user
  %1: f32[64] = aten.sum.dim_IntList(%0, [0])
  out %1 user
)");
  ASSERT_EQ(program.kernels.size(), 2U);
  const auto chunks_at = [&](int64_t rows) {
    return std::get<RunKernel>(substitute(program, {1, rows}).steps[0]).units;
  };
  EXPECT_EQ(chunks_at(1), ir::Dim(1));
  EXPECT_EQ(chunks_at(1024), ir::Dim(16));
  EXPECT_EQ(chunks_at(1000000), ir::Dim(15625));
}

TEST(SymbolicSchedule, WhatMayBroadcastIsLeftToLibTorch) {
  const auto program = symbolic(R"(
  in %0: f32[s0,4] user
  in %1: f32[s1,4] user
  %2: f32[max(s0,s1),4] = aten.add.Tensor(%0, %1)
  out %2 user
)");
  EXPECT_EQ(nodes_run(program), 1U);
}

TEST(SymbolicSchedule, LibTorchReportsTheMaximumOfNothingAndDivisionByZero) {
  const auto program = symbolic(R"(
  in %0: f32[s0-1,4] user
  in %1: i64[s0] user
  %2: f32[4] = aten.amax(%0, [0])
  %3: i64[s0] = aten.floor_divide.Scalar(%1, s0-1)
  %4: i64[s0] = aten.floor_divide.Scalar(%1, s0)
  out %2 user
  out %3 user
  out %4 user
)");
  EXPECT_EQ(nodes_run(program), 2U);
  EXPECT_EQ(program.kernels.size(), 1U);
}

TEST(SymbolicSchedule, AnInstanceHasNoSymbols) {
  const auto program = symbolic(R"(
  in %0: f32[s0,s1] user
  %1: f32[s0,1] = aten.sum.dim_IntList(%0, [1], true)
  %2: f32[s0,s1] = aten.div.Tensor(%0, %1)
  out %2 user
)");
  const auto instance = substitute(program, {3, 1000});
  EXPECT_TRUE(instance.graph.symbols.empty());
  EXPECT_EQ(instance.kernels, program.kernels);
  const auto& run = std::get<RunKernel>(instance.steps[0]);
  EXPECT_EQ(run.units, ir::Dim(3));
  EXPECT_LT(run.grain, std::get<RunKernel>(substitute(program, {3, 10}).steps[0]).grain);
  for (const auto& value : instance.graph.values)
    for (const auto& size : value.type.tensor()->sizes) EXPECT_TRUE(size.is_constant());
  const auto kernel = substitute(program.kernels[0], {3, 1000});
  EXPECT_EQ(units(kernel), ir::Dim(3));
  for (const auto& extent : kernel.loops) EXPECT_TRUE(extent.is_constant());
}

}  // namespace
}  // namespace antegrad::schedule
