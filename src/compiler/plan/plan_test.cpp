#include "compiler/plan/plan.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "graph/stored_bytes.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

constexpr const char* kForward = R"(graph @f functional {
  in %0: f32[8,8] user
  in %1: f32[8,8] user
  %2: f32[8,8] = aten.mm(%0, %1)
  %3: f32[8,8] = aten.sin(%2)
  %4: f32[8,8] = aten.sin(%2)
  %5: f32[8,8] = aten.add.Tensor(%3, %4)
  %6: f32[8,8] = aten.cos(%0)
  out %5 user
})";

constexpr const char* kJoint = R"(graph @f joint {
  in %0: f32[64] param "w"
  in %1: f32[64] tangent
  %2: f32[64] = aten.sin(%0)
  %3: f32[64] = aten.exp(%2)
  %4: f32[64] = aten.mul.Tensor(%1, %3) backward
  %5: f32[64] = aten.cos(%0) backward
  %6: f32[64] = aten.mul.Tensor(%4, %5) backward
  out %3 user
  out %6 grad 0
})";

Options plain() {
  Options options;
  options.cache = Cache::Off;
  return options;
}

Plan plan_of(const char* text, const Options& options, const CaptureFacts& facts = {}) {
  return make_plan({options, true, std::make_shared<const Lowering>(options)}, ir::parse(text), facts);
}

TEST(Plan, PassesRemoveWhatIsRepeatedOrUnused) {
  const auto plan = plan_of(kForward, plain());
  EXPECT_TRUE(plan.has_kernels);
  EXPECT_FALSE(plan.partition);
  EXPECT_EQ(ir::print(plan.graph), R"(graph @f functional {
  in %0: f32[8,8] user
  in %1: f32[8,8] user
  %2: f32[8,8] = aten.mm(%0, %1)
  %3: f32[8,8] = aten.sin(%2)
  %4: f32[8,8] = aten.add.Tensor(%3, %3)
  out %4 user
}
)");
}

TEST(Plan, AJointGraphIsSplit) {
  const auto plan = plan_of(kJoint, plain(), {.differentiable = true, .lazy_bits = false, .reached_by = {}});
  ASSERT_TRUE(plan.partition);
  EXPECT_EQ(&plan.forward_graph(), &plan.partition->forward);
  for (const auto& node : plan.partition->forward.nodes) EXPECT_FALSE(node.provenance.backward);
  EXPECT_FALSE(plan.partition->backward.nodes.empty());
  EXPECT_FALSE(plan.partition->saved.empty());
}

TEST(Plan, ThePolicyOfTheOptionsDecidesWhatIsSaved) {
  auto options = plain();
  const CaptureFacts facts{.differentiable = true, .lazy_bits = false, .reached_by = {}};
  options.policy = SaveAll{};
  const auto all = plan_of(kJoint, options, facts);
  options.policy = RecomputeAll{};
  const auto none = plan_of(kJoint, options, facts);
  EXPECT_GT(all.partition->saved_bytes, none.partition->saved_bytes);
}

TEST(Plan, WithoutKernels) {
  auto options = plain();
  options.backend = Backend::Eager;
  EXPECT_FALSE(plan_of(kForward, options).has_kernels);
  EXPECT_FALSE(
      plan_of(kForward, plain(), {.differentiable = false, .lazy_bits = true, .reached_by = {}}).has_kernels)
      << "kernels would ignore lazy conjugation";
}

TEST(Plan, DisabledPassesAreSkipped) {
  auto options = plain();
  options.disabled_passes = {"common_subexpressions"};
  size_t sines = 0;
  for (const auto& node : plan_of(kForward, options).graph.nodes) sines += node.op == "aten.sin";
  EXPECT_EQ(sines, 2U);
}

TEST(Plan, BytesComeBack) {
  for (const bool joint : {false, true}) {
    const auto plan = plan_of(joint ? kJoint : kForward, plain(),
                              {.differentiable = joint, .lazy_bits = false, .reached_by = {}});
    const auto bytes = bytes_of(plan);
    ByteReader in(bytes);
    const auto back = read_plan(in);
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(back.has_kernels, plan.has_kernels);
    EXPECT_TRUE(back.graph == plan.graph);
    EXPECT_TRUE(back.forward_graph() == plan.forward_graph());
    EXPECT_EQ(bytes_of(back), bytes);
    for (size_t length = 0; length < bytes.size(); ++length) {
      ByteReader part(std::string_view(bytes).substr(0, length));
      EXPECT_THROW(read_plan(part), Error) << length;
    }
  }
}

TEST(Lowering, OneProgramForAllSizes) {
  const auto options = plain();
  const Lowering lowering(options);
  auto graph = ir::parse(R"(graph @f functional [s0: 2..] {
  in %0: f32[s0] user
  %1: f32[s0] = aten.sin(%0)
  %2: f32[s0] = aten.cos(%1)
  out %2 user
})");
  lowering.prepare(graph);
  const auto program = lowering.program(graph, false);
  ASSERT_EQ(program.kernels.size(), 1U) << "both ops are fused";
  EXPECT_EQ(program.steps.size(), 1U);
  const auto source = lowering.source(program.kernels[0], graph);
  EXPECT_NE(source.find("sin"), std::string::npos) << source;
}

TEST(Lowering, SaysWhyThereAreNoKernels) {
  auto options = plain();
  options.backend = Backend::Eager;
  const auto graph = ir::parse(kForward);
  EXPECT_EQ(Lowering(options).why_no_kernels(graph), "Options::backend is Eager");
  EXPECT_EQ(Lowering(options).toolchain_name(), "none");
  EXPECT_EQ(Lowering(plain()).why_no_kernels(graph), "");
  EXPECT_EQ(Lowering(plain()).cuda_name(graph), "");
}

TEST(Lowering, ToleratesFailuresOnlyIfItMay) {
  auto options = plain();
  const Error failure(ErrorCode::Compile, "compile", "it does not compile");
  const auto tolerate = [&](const Lowering& lowering) {
    try {
      throw failure;
    } catch (const Error& error) {
      lowering.tolerate(error);
    }
  };
  const Lowering strict(options);
  EXPECT_THROW(tolerate(strict), Error);
  EXPECT_EQ(strict.failures().count, 0U);
  options.compile_failure = CompileFailure::Eager;
  const Lowering tolerant(options);
  tolerate(tolerant);
  tolerate(tolerant);
  EXPECT_EQ(tolerant.failures().count, 2U);
  EXPECT_EQ(tolerant.failures().reasons.size(), 1U) << "each reason once";
}

}  // namespace
}  // namespace antegrad::compiler
