#include "ir/layout.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace antegrad::ir {
namespace {

bool dense(const std::string& type) {
  return is_dense(
      parse("graph @f functional [s0: 1.., s1: 1..] {\nin %0: " + type + " user\n}").tensor_type({0}));
}

TEST(IsDense, InAnyOrder) {
  EXPECT_TRUE(dense("f32[]"));
  EXPECT_TRUE(dense("f32[2,3]"));
  EXPECT_TRUE(dense("f32[2,3,4]{3,1,6}"));
  EXPECT_TRUE(dense("f32[2,1,4]{4,99,1}"));
  EXPECT_TRUE(dense("f32[2,0]{7,7}"));
  EXPECT_FALSE(dense("f32[2,3]{4,1}"));
  EXPECT_FALSE(dense("f32[2,3]{0,1}"));
  EXPECT_FALSE(dense("f32[2,2]{1,1}"));
}

TEST(IsDense, ByForm) {
  EXPECT_TRUE(dense("f32[s0,s1]"));
  EXPECT_TRUE(dense("f32[s0,s1]{1,s0}"));
  EXPECT_TRUE(dense("f32[s0,3,s1,s1]{3*s1^2,1,3*s1,3}"));
  EXPECT_TRUE(dense("f32[s0,1,s1]{s1,77,1}"));
  EXPECT_FALSE(dense("f32[s0,s1]{2*s1,1}"));
  EXPECT_FALSE(dense("f32[s0,s1]{s0,1}"));
  EXPECT_FALSE(dense("f32[s0,4]{0,1}"));
}

}  // namespace
}  // namespace antegrad::ir
