// Fusion keeps no more results alive than running the nodes one after the other does.
#include "schedule/memory_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"

namespace antegrad::schedule {
namespace {

Program program_of(const ir::Graph& graph) {
  Settings settings;
  settings.supports = [](std::string_view, ir::DType) { return true; };
  return schedule(graph, settings);
}

auto kernels_run(const Program& program) {
  return std::ranges::count_if(program.steps,
                               [](const Step& step) { return std::holds_alternative<RunKernel>(step); });
}

/// A chain of sums of matrix products.
ir::Graph sum_of_products(int count, const std::string& size, const std::string& symbols = {}) {
  const auto type = fmt::format("f32[{0},{0}]", size);
  auto text = fmt::format("graph @g functional {}{{\n  in %0: {} user\n", symbols, type);
  for (int i = 0; i < count; ++i) {
    const auto sum = i == 0 ? 0 : 2 * i;
    text += fmt::format("  %{}: {} = aten.mm(%{}, %0)\n", 2 * i + 1, type, 0);
    text += fmt::format("  %{}: {} = aten.add.Tensor(%{}, %{})\n", 2 * i + 2, type, sum, 2 * i + 1);
  }
  return ir::parse(text + fmt::format("  out %{} user\n}}\n", 2 * count));
}

TEST(MemoryModel, LargeSumsAreAddedUpAsTheyCome) {
  for (const auto& graph : {sum_of_products(32, "700"), sum_of_products(32, "s0", "[s0: 1.. ~ 700] ")}) {
    const auto program = program_of(graph);
    const int64_t matrix = 700 * 700 * 4;
    EXPECT_EQ(MemoryModel(graph).peak(), 3 * matrix);
    EXPECT_LE(peak_bytes(program), 3 * matrix);
    EXPECT_GE(kernels_run(program), 16U);
  }
}

TEST(MemoryModel, SmallSumsAreOneKernel) {
  EXPECT_EQ(kernels_run(program_of(sum_of_products(32, "64"))), 1U);
}

TEST(MemoryModel, WhatTakesNoMoreMemoryIsFused) {
  // The sum is read at once, and its operands die with it.
  const auto graph = ir::parse(R"(graph @g functional {
  in %0: f32[1000,1000] user
  %1: f32[1000,1000] = aten.mm(%0, %0)
  %2: f32[1000,1000] = aten.mm(%1, %0)
  %3: f32[1000,1000] = aten.add.Tensor(%1, %2)
  %4: f32[1000,1000] = aten.tanh(%3)
  %5: f32[1000,1000] = aten.mul.Tensor(%4, %0)
  out %5 user
}
)");
  EXPECT_EQ(kernels_run(program_of(graph)), 1U);
  EXPECT_EQ(peak_bytes(program_of(graph)), 12000000);
}

TEST(MemoryModel, AKernelThatRunsLaterKeepsWhatItReads) {
  const auto graph = sum_of_products(3, "1000");
  MemoryModel model(graph);
  const MemoryModel::Work first{{{1}}, {{2}}, 1}, second{{{2}, {3}}, {{4}}, 3};
  const MemoryModel::Work both{{{1}, {2}, {3}}, {{2}, {4}}, 3};
  EXPECT_TRUE(model.allows({first, second}, both));
  EXPECT_TRUE(model.allows({first}, first));
  model.replace({first, second}, both);
  EXPECT_FALSE(model.allows({both, {{{4}, {5}}, {{6}}, 5}}, {{{1}, {2}, {3}, {4}, {5}}, {{2}, {4}, {6}}, 5}));
}

}  // namespace
}  // namespace antegrad::schedule
