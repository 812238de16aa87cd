// print(), check() and callback(): at the right time, once per call, in order, with and without compiling.
#include <antegrad/antegrad.h>
#include <antegrad/control.h>
#include <antegrad/effects.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Lines = std::vector<std::string>;

/// What the functions below did, in order.
Lines& lines() {
  static auto& all = *new Lines;
  return all;
}
void note(const std::string& line) { lines().push_back(line); }

class Effects : public ::testing::Test {
 protected:
  void SetUp() override {
    test::manual_seed(3);
    lines().clear();
    set_print([](std::string_view line) { note("print " + std::string(line)); });
  }
  void TearDown() override { set_print(nullptr); }

  static Lines take() { return std::exchange(lines(), {}); }
};

Tensor talkative(const Tensor& x) {
  print("sum {}", x.sum());
  callback([](const Tensor& at) { note("call " + std::to_string(at.numel())); }, x);
  const auto y = (x * 2).exp();
  print("{{{}}}", (y * 0).sum());
  check(y > 0, "exp is positive");
  callback([] { note("end"); });
  return y.sum();
}

TEST_F(Effects, HappenOncePerCallInOrderAndNotDuringACapture) {
  for (const auto backend : {Backend::Default, Backend::NoFuse, Backend::Eager}) {
    Options options;
    options.backend = backend;
    auto compiled = compile(talkative, options);
    const auto x = torch::full({3}, 2.0);
    compiled.explain(x);
    EXPECT_TRUE(take().empty());
    talkative(x);
    const auto expected = take();
    EXPECT_EQ(expected, (Lines{"print sum 6\n", "call 3", "print {0}\n", "end"}));
    for (int round = 0; round < 3; ++round) {
      compiled(x);
      EXPECT_EQ(take(), expected) << round;
    }
    EXPECT_EQ(compiled.report().captures, 1U);
  }
}

TEST_F(Effects, AtOtherSizesTheFunctionHasOneVersionMore) {
  auto compiled = compile(talkative);
  for (const int64_t n : {3, 4, 5, 6, 7}) {
    compiled(torch::zeros({n}));
    EXPECT_EQ(take(), (Lines{"print sum 0\n", "call " + std::to_string(n), "print {0}\n", "end"}));
  }
  EXPECT_LE(compiled.report().captures, 2U) << "callbacks of one type with equal contents are the same";
}

TEST_F(Effects, OfTheForwardPassHappenOnceWithGradients) {
  for (const Policy policy : {Policy(MinCut{}), Policy(SaveAll{}), Policy(RecomputeAll{})}) {
    Options options;
    options.policy = policy;
    auto compiled = compile(talkative, options);
    const auto x = torch::full({3}, 2.0).requires_grad_();
    const auto loss = compiled(x);
    EXPECT_EQ(take().size(), 4U);
    loss.backward();
    EXPECT_TRUE(take().empty());
    EXPECT_TRUE(at::allclose(x.grad(), 2 * (x.detach() * 2).exp()));
  }
}

TEST_F(Effects, OfGradients) {
  const auto function = [](const Tensor& x) {
    const auto y = print_gradient("grad {}", x.sum() * 3);
    return gradient_callback(
        [](const Tensor& gradient) { note("call " + std::to_string(gradient.item<float>())); }, y * 2);
  };
  auto compiled = compile(function);
  for (int round = 0; round < 2; ++round) {
    const auto x = torch::ones({2}).requires_grad_();
    const auto loss = round == 0 ? function(x) : compiled(x);
    EXPECT_TRUE(take().empty());
    loss.backward();
    EXPECT_EQ(take(), (Lines{"call 1.000000", "print grad 2\n"})) << round;
    EXPECT_TRUE(at::equal(x.grad(), torch::full({2}, 6.0)));
  }
}

TEST_F(Effects, SecondDerivativesDoNotRepeatThoseOfTheForwardPass) {
  const auto function = [](const Tensor& x) {
    print("forward");
    return print_gradient("grad {}", (x * x * x).sum());
  };
  auto compiled = compile(function);
  for (int round = 0; round < 2; ++round) {
    const auto x = torch::full({1}, 2.0).requires_grad_();
    const auto loss = round == 0 ? function(x) : compiled(x);
    EXPECT_EQ(take(), (Lines{"print forward\n"}));
    const auto first = torch::autograd::grad({loss}, {x}, {}, true, true)[0];
    EXPECT_EQ(take(), (Lines{"print grad 1\n"})) << round;
    const auto second = torch::autograd::grad({first.sum()}, {x})[0];
    EXPECT_FLOAT_EQ(second.item<float>(), 12.0F);
  }
}

TEST_F(Effects, AFailedCheckThrowsItsMessageAndStopsWhatFollows) {
  const auto function = [](const Tensor& x) {
    print("before");
    check(x > 0, "x must be positive");
    print("after");
    return x.log();
  };
  auto compiled = compile(function);
  for (int round = 0; round < 2; ++round) {
    const auto call = [&](const Tensor& x) { return round == 0 ? function(x) : compiled(x); };
    call(torch::ones({2}));
    EXPECT_EQ(take(), (Lines{"print before\n", "print after\n"}));
    try {
      call(torch::zeros({2}));
      ADD_FAILURE() << "no error";
    } catch (const c10::Error& error) {
      EXPECT_STREQ(error.what_without_backtrace(), "x must be positive");
    }
    EXPECT_EQ(take(), (Lines{"print before\n"}));
  }
}

TEST_F(Effects, SeeValuesAsTheyAreAtTheCall) {
  std::vector<float> seen;
  const auto function = [&seen](Tensor x) {
    auto y = x + 1;
    callback([&seen](const Tensor& now) { seen.push_back(now.sum().item<float>()); }, y);
    y.mul_(10);
    callback([&seen](const Tensor& now) { seen.push_back(now.sum().item<float>()); }, y);
    return y;
  };
  auto compiled = compile(function);
  for (int round = 0; round < 2; ++round) compiled(torch::ones({2}));
  EXPECT_EQ(seen, (std::vector<float>{4, 40, 4, 40}));
}

TEST_F(Effects, OfRegionsHappenOnceWhateverIsDerived) {
  const auto function = [](const Tensor& x) {
    return region(
        "cube",
        [](const Tensor& x) {
          print("forward");
          return cond(
              x.sum() > 0,
              [&] {
                print("positive");
                return x * x * x;
              },
              [&] { return x * 1; });
        },
        x);
  };
  auto compiled = compile(function);
  for (int round = 0; round < 2; ++round) {
    const auto x = torch::full({1}, 2.0).requires_grad_();
    const auto y = round == 0 ? function(x) : compiled(x);
    EXPECT_EQ(take(), (Lines{"print forward\n", "print positive\n"}));
    const auto first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
    const auto second = torch::autograd::grad({first}, {x}, {}, true, true)[0];
    EXPECT_FLOAT_EQ(second.item<float>(), 12.0F);
    EXPECT_FLOAT_EQ(torch::autograd::grad({second}, {x})[0].item<float>(), 6.0F);
    EXPECT_TRUE(take().empty()) << round;
  }
}

TEST_F(Effects, CallbacksOfRegionsMayKeepTheirTensors) {
  std::vector<Tensor> kept;
  const auto function = [&kept](const Tensor& x) {
    const auto y = x * 2 + 1;
    const auto z = region("kept", [&] {
      callback([&kept](const Tensor& at) { kept.push_back(at); }, y);
      return y.sin();
    });
    const auto more = ((z + y).exp() * z).cos();
    return more.matmul(z.t()).matmul(z) * more;
  };
  auto compiled = compile(function);
  for (int round = 0; round < 3; ++round) {
    const auto x = torch::full({64, 64}, 0.01 * round);
    compiled(x);
    ASSERT_EQ(kept.size(), static_cast<size_t>(round + 1));
    for (int i = 0; i <= round; ++i)
      EXPECT_TRUE(at::allclose(kept[i], torch::full({64, 64}, 0.02 * i + 1))) << round << " " << i;
  }
}

TEST_F(Effects, FromTheCacheOnDisk) {
  for (int round = 0; round < 2; ++round) {
    auto compiled = compile(talkative);
    compiled(torch::full({3}, 2.0));
    EXPECT_EQ(take().size(), 4U);
  }
}

TEST_F(Effects, WrongFormats) {
  const auto text_of = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(text_of([] { print("{} {}", torch::ones({1})); }),
            "[print] \"{} {}\" has 2 places for 1 tensors. Write {} once for each tensor.");
  EXPECT_EQ(text_of([] { print("{"); }),
            "[print] \"{\" has a single brace at position 0. Write {} for the contents of a tensor, and {{ "
            "or }} for "
            "a brace.");
}

}  // namespace
}  // namespace antegrad::test
