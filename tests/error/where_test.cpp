// Refusals say where: the user's function, the scope, the last ops.
#include "error/expect_error.h"
#include "util/call_site.h"

namespace antegrad::test {
namespace {

using at::Tensor;

TEST(CallSite, NamesAreShort) {
  EXPECT_EQ(short_function_name("main"), "main");
  EXPECT_EQ(short_function_name("loss(at::Tensor const&, double)"), "loss");
  EXPECT_EQ(short_function_name("at::Tensor Net<float, 3>::forward<int>(at::Tensor const&) const"),
            "Net::forward");
  EXPECT_EQ(short_function_name("(anonymous namespace)::loss(at::Tensor)"), "(anonymous)::loss");
  EXPECT_EQ(short_function_name("main::{lambda(at::Tensor const&)#1}::operator()(at::Tensor const&) const"),
            "main::{lambda#1}::operator()");
  EXPECT_EQ(short_function_name("std::enable_if<true, int>::type std::__invoke_r<int>(int&&)"),
            "std::__invoke_r");
  EXPECT_EQ(short_function_name("main::{lambda(int)#2}::operator()(int) const [clone .isra.0]"),
            "main::{lambda#2}::operator()");
  EXPECT_EQ(short_function_name(""), "");
}

TEST(CallSite, IsTheInnermostFunctionOfTheUser) {
  const auto stack = call_stack();
  const auto site = describe_call_site(stack);
  EXPECT_NE(site.find("CallSite_IsTheInnermostFunctionOfTheUser_Test::TestBody"), std::string::npos) << site;
  EXPECT_EQ(site, describe_call_site(stack));  // the second time without a lookup
  EXPECT_EQ(describe_call_site({}), "");
}

/// Functions of the user, in a row.
[[gnu::noinline]] double read_the_threshold(const Tensor& a) { return a.sum().item<double>(); }
[[gnu::noinline]] float read_memory(const Tensor& a) { return a.data_ptr<float>()[0]; }
[[gnu::noinline]] Tensor head_loss(const Tensor& a) {
  const Scope scope("head");
  const auto b = a.mul(2);
  return read_the_threshold(b) > 0 ? b : -b;
}

TEST(Where, ARefusedOpNamesFunctionScopeAndOps) {
  const auto x = torch::ones({3});
  const auto compiled = compile([](const Tensor& a) { return head_loss(a.exp()) + 1; });
  for (const std::string fact :
       {"read_the_threshold", "in scope 'head', after aten.exp, aten.mul.Scalar, aten.sum"})
    expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", fact, {x}, [&] { compiled(x); });
}

TEST(Where, AReadOfMemoryNamesTheFunction) {
  const auto x = torch::ones({3});
  const auto compiled = compile([](const Tensor& a) { return a * read_memory(a.cos()); });
  for (const std::string fact : {"read_memory", "after aten.cos"})
    expect_error(ErrorCode::DataRead, "capture:data_ptr", fact, {x}, [&] { compiled(x); });
}

TEST(Where, AnEagerVersionSaysItToo) {
  Options options;
  options.unsupported = Unsupported::Eager;
  const auto compiled = compile([](const Tensor& a) { return head_loss(a); }, options);
  compiled(torch::ones({3}));
  ASSERT_EQ(compiled.report().eager_reasons.size(), 1U);
  EXPECT_NE(compiled.report().eager_reasons[0].find("read_the_threshold"), std::string::npos)
      << compiled.report().eager_reasons[0];
}

struct ReadsInBackward : torch::autograd::Function<ReadsInBackward> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& a) { return a * 2; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * read_the_threshold(gradients[0])};
  }
};

TEST(Where, ABackwardPassOfTheUserIsNamed) {
  const auto x = torch::ones({3}).requires_grad_();
  const auto compiled = compile([](const Tensor& a) { return ReadsInBackward::apply(a.exp()); });
  expect_error(ErrorCode::DataRead, "capture:aten._local_scalar_dense", "read_the_threshold", {},
               [&] { compiled(x).sum().backward(); });
}

}  // namespace
}  // namespace antegrad::test
