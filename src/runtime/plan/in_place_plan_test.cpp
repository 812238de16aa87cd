#include "runtime/plan/in_place.h"

#include <gtest/gtest.h>

#include "codegen/text/expression.h"
#include "ir/text.h"

namespace antegrad::runtime {
namespace {

schedule::Program program_of(const std::string& text) {
  schedule::Settings settings;
  settings.supports = codegen::expression_supported;
  return schedule::schedule(ir::parse(text), settings);
}

/// What becomes of the write of output 0 to input 0.
InPlacePlan plan(const std::string& text, const std::string& refused = "") {
  auto program = program_of(text);
  return plan_in_place({{{0, 0, refused}}, false}, {}, program);
}

TEST(InPlace, AnUpdateIsWrittenToTheMemoryOfItsInput) {
  const auto made = plan(R"(graph @f functional {
  in %0: f32[64] user
  in %1: f32[64] user
  %2: f32[64] = aten.add.Tensor(%0, %1)
  out %2 mutated 0
})");
  ASSERT_EQ(made.writes.size(), 1U);
  EXPECT_TRUE(made.writes[0].direct()) << made.writes[0].copied_because;
  EXPECT_EQ(made.first, 0);
}

TEST(InPlace, WhatTheSignatureRefusesIsCopied) {
  const auto made = plan(R"(graph @f functional {
  in %0: f32[64] user
  %1: f32[64] = aten.sin(%0)
  out %1 mutated 0
})",
                         "the backward pass reads its new contents");
  ASSERT_EQ(made.writes.size(), 1U);
  EXPECT_EQ(made.writes[0].copied_because, "the backward pass reads its new contents");
  EXPECT_FALSE(made.any());
}

TEST(InPlace, AReaderOfTheOldContentsThatCanFailComesFirst) {
  const auto made = plan(R"(graph @f functional {
  in %0: f32[8,8] user
  %1: f32[8,8] = aten.sin(%0)
  %2: f32[8,8] = aten.mm(%0, %0)
  out %1 mutated 0
  out %2 user
})");
  ASSERT_EQ(made.writes.size(), 1U);
  EXPECT_TRUE(made.writes[0].direct()) << made.writes[0].copied_because;
  EXPECT_EQ(made.first, 1) << "the product runs before";
}

TEST(InPlace, WritesOfASignature) {
  aot::Signature signature;
  signature.user_inputs = signature.inputs = signature.slots = 2;
  signature.graph_inputs = {0, 1};
  signature.written = {1};
  signature.steps = {aot::RunGraph{}, aot::WriteBack{.slot = 1, .result = 0, .members = {}}};
  const auto writes = input_writes(signature);
  ASSERT_EQ(writes.list.size(), 1U);
  EXPECT_EQ(writes.list[0].output, 0);
  EXPECT_EQ(writes.list[0].input, 1);
  EXPECT_FALSE(writes.deferred);
}

}  // namespace
}  // namespace antegrad::runtime
