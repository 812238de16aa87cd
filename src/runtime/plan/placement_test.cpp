#include "runtime/plan/placement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/text/expression.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::runtime {
namespace {

schedule::Program program_of(const std::string& text, bool fuse = true) {
  auto graph = ir::parse(text);
  ir::verify(graph);
  schedule::Settings settings;
  settings.fuse = fuse;
  settings.supports = codegen::expression_supported;
  return schedule::schedule(graph, settings);
}

/// One step a line: what it creates, and which registers die after it.
std::string describe(const schedule::Program& program, const Placement& placement) {
  std::string text;
  for (size_t s = 0; s < placement.steps.size(); ++s) {
    const auto& step = placement.steps[s];
    text += std::holds_alternative<schedule::RunKernel>(program.steps[s]) ? "kernel" : "node";
    if (step.arena_begin != 0) text += fmt::format(", arena of {}", step.arena_begin);
    for (const auto& birth : step.births) {
      text += fmt::format(", {} = %{}", birth.slot, birth.value.index);
      if (birth.arena_offset >= 0) text += fmt::format(" in the arena at {}", birth.arena_offset);
      if (birth.donor >= 0) text += fmt::format(" from {}", birth.donor);
    }
    if (step.writes_out) text += ", writes out";
    for (const auto dying : step.dying) text += fmt::format(", {} dies", dying);
    if (step.arena_end) text += ", arena ends";
    text += "\n";
  }
  return text + fmt::format("{} registers, {} bytes\n", placement.registers, placement.arena_bytes);
}

TEST(Placement, SmallValuesAreInTheArenaAndResultsAreNot) {
  const auto program = program_of(R"(graph @f functional {
  in %0: f32[64] user
  %1: f32[64] = aten.sin(%0)
  %2: f32[64] = aten.cos(%1)
  out %2 user
})",
                                  false);
  EXPECT_EQ(describe(program, place(program)),
            "kernel, arena of 256, 0 dies\n"
            "kernel, 1 = %2, arena ends\n"
            "2 registers, 256 bytes\n");
}

TEST(Placement, ProductsAreWrittenIntoTensorsThatAreMadeForThem) {
  const auto program = program_of(R"(graph @f functional {
  in %0: f32[8,8] user
  %1: f32[8,8] = aten.mm(%0, %0)
  %2: f32[8,8] = aten.sin(%1)
  %3: f32[8,8] = aten.mm(%2, %0)
  out %3 user
})");
  const auto placement = place(program);
  ASSERT_EQ(placement.steps.size(), 3U);
  EXPECT_TRUE(placement.steps[0].writes_out);
  EXPECT_FALSE(placement.steps[1].writes_out);
  EXPECT_TRUE(placement.steps[2].writes_out);
  ASSERT_EQ(placement.steps[0].births.size(), 1U);
  EXPECT_GE(placement.steps[0].births[0].arena_offset, 0);
  ASSERT_EQ(placement.steps[2].births.size(), 1U);
  EXPECT_EQ(placement.steps[2].births[0].arena_offset, -1) << "a result has memory of its own";
}

TEST(Placement, ProductsThatNeedOtherMemoryAreCalledAsAnyOp) {
  auto graph = ir::parse(R"(graph @f functional {
  in %0: c64[8,8] user
  in %1: f32[8,8] user
  %2: c64[8,8] = aten.mm(%0, %0)
  %3: f32[8,8] = aten.mm(%1, %1)
  %4: f32[8,8] = aten.sin(%3)
  out %2 user
  out %4 user
})");
  EXPECT_FALSE(out_op(graph.nodes[0], graph)) << "complex";
  EXPECT_EQ(out_op(graph.nodes[1], graph), OutOp::Mm);
  EXPECT_FALSE(out_op(graph.nodes[2], graph));
}

TEST(Placement, ConcatenationsOfOneTypeAreWrittenIntoPlannedMemory) {
  auto graph = ir::parse(R"(graph @f functional {
  in %0: f32[8,8] user
  in %1: f64[8,8] user
  %2: f32[16,8] = aten.cat([%0, %0], 0)
  %3: f64[16,8] = aten.cat([%0, %1], 0)
  out %2 user
  out %3 user
})");
  EXPECT_EQ(out_op(graph.nodes[0], graph), OutOp::Cat);
  EXPECT_FALSE(out_op(graph.nodes[1], graph)) << "LibTorch converts the parts";
}

TEST(Placement, LargeValuesHaveMemoryThatLaterOnesTakeOver) {
  const auto program = program_of(R"(graph @f functional {
  in %0: f32[65536] user
  %1: f32[65536] = aten.sin(%0)
  %2: f32[65536] = aten.cos(%1)
  out %2 user
})",
                                  false);
  const auto placement = place(program);
  EXPECT_EQ(placement.arena_bytes, 0);
  ASSERT_EQ(placement.steps.size(), 2U);
  ASSERT_EQ(placement.steps[1].births.size(), 1U);
  EXPECT_EQ(placement.steps[1].births[0].donor, placement.steps[0].births.at(0).slot);
}

}  // namespace
}  // namespace antegrad::runtime
