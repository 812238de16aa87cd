#include "partition/rules.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "ir/text.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

constexpr const char* kNet = R"(
graph @f joint {
  in %0: f32[8,8] user "x"
  in %1: f32[8,8] param "w"
  in %2: f32[8,8] tangent
  %3: f32[8,8] = aten.mm(%0, %1) at "net.a"
  %4: f32[8,8] = aten.add.Scalar(%3, 1) at "net.a"
  %5: f32[4,16] &%4 = aten.view(%4, [4, 16]) at "net.a"
  %6: f32[4,16] = aten.sin(%5) at "net.b"
  %7: f32[4,16] = aten.rand_like(%6) random at "net.b"
  %8: f32[4,16] = aten.mul.Tensor(%6, %7) at "net.b"
  %9: f32[4,16] = aten.mul.Tensor(%2, %7) at "net.b" backward
  %10: f32[4,16] = aten.cos(%5) at "net.b" backward
  %11: f32[4,16] = aten.mul.Tensor(%9, %10) at "net.b" backward
  %12: f32[4,16] = aten.mul.Tensor(%11, %3) at "net.a" backward
  out %8 user
  out %12 grad 0
}
)";

std::vector<std::string> saved_ops(const Partition& parts) {
  std::vector<std::string> out;
  for (const auto& decision : parts.decisions)
    if (decision.saved) out.push_back(decision.op);
  return out;
}

TEST(Rules, ScopesMatchWholeNames) {
  EXPECT_TRUE(is_in_scope("net.a", "net.a"));
  EXPECT_TRUE(is_in_scope("net.a.b", "net.a"));
  EXPECT_TRUE(is_in_scope("net", ""));
  EXPECT_FALSE(is_in_scope("net.ab", "net.a"));
  EXPECT_FALSE(is_in_scope("net", "net.a"));
  EXPECT_FALSE(is_in_scope("", "net"));
}

TEST(Rules, PolicyIsAskedForEachTensorThatTheBackwardPassReads) {
  std::vector<Candidate> asked;
  UserPolicy policy{"collect", [&](const Candidate& candidate) {
                      asked.push_back(candidate);
                      return Keep::Auto;
                    }};
  const auto parts = partition(ir::parse(kNet), policy);
  // Neither for inputs nor for random values; for the tensor that a view is taken of, not for the view.
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].op, "aten.mm");
  EXPECT_EQ(asked[0].scope, "net.a");
  EXPECT_EQ(asked[0].bytes, 256);
  EXPECT_TRUE(asked[0].dear);
  EXPECT_EQ(asked[1].op, "aten.add.Scalar");
  EXPECT_FALSE(asked[1].dear);
  EXPECT_EQ(saved_ops(parts), (std::vector<std::string>{"aten.mm", "aten.rand_like"}));
}

TEST(Rules, PolicySavesAndComputesAgain) {
  const auto with = [](Keep keep) {
    return partition(ir::parse(kNet), UserPolicy{"all", [=](const Candidate&) { return keep; }});
  };
  EXPECT_EQ(saved_ops(with(Keep::Save)),
            (std::vector<std::string>{"aten.mm", "aten.add.Scalar", "aten.rand_like"}));
  EXPECT_EQ(saved_ops(with(Keep::Recompute)), (std::vector<std::string>{"input", "input", "aten.rand_like"}));
}

TEST(Rules, ComeBeforeThePolicy) {
  const UserPolicy save{"all", [](const Candidate&) { return Keep::Save; }};
  const auto parts = partition(ir::parse(kNet), save, {{"net.a", Keep::Recompute}});
  EXPECT_EQ(saved_ops(parts), (std::vector<std::string>{"input", "input", "aten.rand_like"}));
}

TEST(Rules, SaveNoNumbers) {
  // LibTorch promotes types differently for a number than for the tensor that would be saved for it.
  const auto joint = ir::parse(R"(
graph @f joint {
  in %0: f32[2] user
  in %1: f32[2] tangent
  %2: f64[] = antegrad.constant(data=x"000000000000f03f", wrapped=true) at "net"
  %3: f32[2] = aten.mul.Tensor(%0, %2) at "net"
  %4: f32[2] = aten.mul.Tensor(%1, %2) backward
  out %3 user
  out %4 grad 0
}
)");
  EXPECT_TRUE(partition(joint, MinCut{}, {{"net", Keep::Save}}).saved.empty());
}

void expect_error(const std::function<void()>& run, const std::string& part) {
  try {
    run();
    FAIL() << "no error with " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Rules, BadArgumentsAreNamed) {
  expect_error([] { partition(ir::parse(kNet), UserPolicy{"empty", nullptr}); }, "\"empty\" has no function");
  expect_error([] { partition(ir::parse("graph @g forward { }")); }, "@g is forward, not joint");
  expect_error(
      [] {
        partition(
            ir::parse("graph @g joint { in %0: f32[2] tangent %1: f32[2] = aten.neg(%0) out %1 user }"));
      },
      "output 0 (%1) of the forward pass depends on tangents");
  expect_error(
      [] { partition(ir::parse("graph @g joint { in %0: f32[2] tangent aten._assert_async(%0) ordered }")); },
      "node 0 has an effect in the forward pass");
}

}  // namespace
}  // namespace antegrad::partition
