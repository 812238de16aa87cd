// Everything that can be compiled, and the ways to call it.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <memory>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

class Callables : public ::testing::Test {
 protected:
  torch::NoGradGuard no_grad_;
  Tensor x_ = torch::randn({2, 3});
  Tensor y_ = torch::randn({2, 3});
};

TEST_F(Callables, NoArguments) {
  auto compiled = compile([this] { return x_ * 3; });
  EXPECT_TRUE(same(x_ * 3, compiled()));
  x_.add_(1);
  EXPECT_TRUE(same(x_ * 3, compiled()));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Callables, PatternsHoldNoTensors) {
  auto compiled = compile([](const std::vector<Tensor>& v) { return std::vector<Tensor>{v[0] + 1, v[0]}; });
  auto weak = c10::weak_intrusive_ptr<c10::TensorImpl>(x_.getIntrusivePtr());
  compiled(std::vector<Tensor>{x_});
  EXPECT_EQ(x_.use_count(), 1);
  x_.reset();
  EXPECT_TRUE(weak.expired());
}

TEST_F(Callables, GenericLambdas) {
  auto f = [](const auto& a) {
    if constexpr (std::is_same_v<std::decay_t<decltype(a)>, Tensor>)
      return a + 1;
    else if constexpr (std::is_arithmetic_v<std::decay_t<decltype(a)>>)
      return torch::full({2}, a);
    else
      return a[0] + a[1];
  };
  auto compiled = compile(f);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(same(f(x_), compiled(x_)));
    EXPECT_TRUE(same(f(std::vector<Tensor>{x_, y_}), compiled(std::vector<Tensor>{x_, y_})));
    EXPECT_TRUE(same(f(std::array<Tensor, 2>{x_, y_}), compiled(std::array<Tensor, 2>{x_, y_})));
    EXPECT_TRUE(same(f(int64_t{1}), compiled(int64_t{1})));
    EXPECT_TRUE(same(f(true), compiled(true)));
    EXPECT_TRUE(same(f(1.0), compiled(1.0)));
    EXPECT_TRUE(same(f(1.0f), compiled(1.0f)));
  }
  EXPECT_EQ(compiled.report().captures, 7u);
}

TEST_F(Callables, Rvalues) {
  auto compiled = compile([](Tensor a, std::vector<Tensor> b) { return a.mul_(2).add(b.at(0)); });
  auto twice = x_.clone();
  EXPECT_TRUE(same(x_ * 2 + y_, compiled(std::move(twice), std::vector<Tensor>{y_.clone()})));
  EXPECT_TRUE(same((x_ + 1) * 2 + y_, compiled(x_ + 1, std::vector<Tensor>{y_})));
  EXPECT_EQ(compiled.report().captures, 1u);
}

Tensor free_function(const Tensor& a, int64_t n) { return a.repeat({n, 1}); }

struct Functor {
  double scale;
  Tensor operator()(const Tensor& a) const { return a * scale; }
};

TEST_F(Callables, KindsOfCallables) {
  EXPECT_TRUE(same(x_.repeat({3, 1}), compile(&free_function)(x_, int64_t{3})));
  EXPECT_TRUE(same(x_ * 2.5, compile(Functor{2.5})(x_)));
  EXPECT_TRUE(same(x_.exp(), compile(std::function<Tensor(Tensor)>([](Tensor a) { return a.exp(); }))(x_)));
  auto owned = compile([weight = std::make_unique<Tensor>(y_)](const Tensor& a) { return a + *weight; });
  EXPECT_TRUE(same(x_ + y_, owned(x_)));
  auto copy = owned;
  EXPECT_TRUE(same(x_ + y_, copy(x_)));
  EXPECT_EQ(owned.report().captures, 1u);
  EXPECT_EQ(copy.report().calls, 2u);
}

TEST_F(Callables, MutableFunctionsKeepTheirState) {
  // A counter inside the callable advances in captures, not when the graph runs.
  auto compiled = compile([count = 0](const Tensor& a) mutable { return a + ++count; });
  EXPECT_TRUE(same(x_ + 1, compiled(x_)));
  EXPECT_TRUE(same(x_ + 1, compiled(x_)));
  EXPECT_TRUE(same(x_.t() + 2, compiled(x_.t())));
}

TEST_F(Callables, ThatReturnNothingOrTakeReferences) {
  auto add = [](Tensor& to, const Tensor& what) { to.add_(what); };
  auto compiled = compile(add);
  auto expected = x_.clone();
  for (int call = 0; call < 2; ++call) {
    compiled(x_, y_);
    add(expected, y_);
    EXPECT_TRUE(same(expected, x_));
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Callables, SameTensorTwice) {  // ALI-43, ALI-48
  auto f = [](const Tensor& a, const Tensor& b) {
    a.mul_(2);
    return std::pair(b, a + b);
  };
  auto compiled = compile(f);
  auto eager_x = x_.clone(), eager_y = y_.clone();
  for (bool twice : {true, false, true}) {
    auto out = compiled(x_, twice ? x_ : y_);
    auto eager = f(eager_x, twice ? eager_x : eager_y);
    EXPECT_TRUE(out.first.is_same(twice ? x_ : y_));
    EXPECT_TRUE(same(eager.second, out.second));
    EXPECT_TRUE(same_state(eager_x, x_));
    EXPECT_TRUE(same_state(eager_y, y_));
  }
}

}  // namespace
}  // namespace antegrad::test
