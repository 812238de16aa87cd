#include "schedule/splice.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::schedule {
namespace {

Program scheduled(const ir::Graph& graph) {
  Settings settings;
  settings.supports = [](std::string_view, ir::DType) { return true; };
  return schedule(graph, settings);
}

constexpr const char* kTwoLayers = R"(graph @g forward {
  in %0: f32[8,8] user
  in %1: f32[8,8] param
  %2: f32[8,8], %3: f32[8,8] = antegrad.call(graph @layer forward {
    in %0: f32[8,8] user
    in %1: f32[8,8] user
    %2: f32[8,8] = aten.mm(%0, %1)
    %3: f32[8,8] = aten.mul.Tensor(%2, 2.0)
    %4: f32[8,8] = aten.tanh(%3)
    out %4 user
    out %2 saved
  }, [%0, %1])
  %4: f32[8,8], %5: f32[8,8] = antegrad.call(graph @layer forward {
    in %0: f32[8,8] user
    in %1: f32[8,8] user
    %2: f32[8,8] = aten.mm(%0, %1)
    %3: f32[8,8] = aten.mul.Tensor(%2, 2.0)
    %4: f32[8,8] = aten.tanh(%3)
    out %4 user
    out %2 saved
  }, [%2, %1])
  %6: f32[8,8] = aten.exp(%4)
  out %6 user
  out %3 saved
  out %5 saved
})";

TEST(Splice, EqualGraphsAreScheduledOnceAndShareTheirKernels) {
  int asked = 0;
  const auto program_of = [&](const ir::Graph& graph) {
    ++asked;
    return scheduled(graph);
  };
  const auto program = splice(scheduled(ir::parse(kTwoLayers)), program_of);
  ir::verify(program.graph);
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(program.kernels.size(), 2U);
  EXPECT_NE(program.kernels[0].name, program.kernels[1].name);
  std::string steps;
  for (const auto& step : program.steps)
    steps += std::holds_alternative<RunNode>(step) ? program.node_of(std::get<RunNode>(step)).op + " "
                                                   : program.kernel_of(std::get<RunKernel>(step)).name + " ";
  const auto& own = program.kernels[0].name;    // of the graph
  const auto& layer = program.kernels[1].name;  // of the layers
  EXPECT_EQ(steps, "aten.mm " + layer + " aten.mm " + layer + " " + own + " ");
  const auto& last = std::get<RunKernel>(program.steps.back());
  const auto& before = std::get<RunKernel>(program.steps[3]);
  EXPECT_EQ(last.buffers.front(), before.buffers.back());  // what the second layer returns
  for (const auto& decision : program.decisions)
    for (const auto node : decision.nodes) EXPECT_LT(static_cast<size_t>(node), program.graph.nodes.size());
}

TEST(Splice, AProgramWithoutCallsStaysAsItIs) {
  const auto graph =
      ir::parse("graph @g forward { in %0: f32[8] user %1: f32[8] = aten.exp(%0) out %1 user }");
  const auto before = scheduled(graph);
  const auto after = splice(before, [](const ir::Graph&) -> Program { throw 1; });
  EXPECT_EQ(after.steps.size(), before.steps.size());
}

}  // namespace
}  // namespace antegrad::schedule
