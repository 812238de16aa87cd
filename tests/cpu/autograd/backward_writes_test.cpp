// Custom functions whose backward pass reads or writes tensors from outside.
#include <gtest/gtest.h>

#include "error/expect_error.h"

namespace {

using antegrad::compile;
using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor seen;  // used by the backward passes below

/// Accumulates gradients in `seen`.
struct Counting : Function<Counting> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return x * 2;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    seen.add_((gradients[0] * context->get_saved_variables()[0]).sum().detach());
    return {gradients[0] * 2};
  }
};

/// Keeps a running mean in `seen`; one of its terms depends on no gradient.
struct Averaging : Function<Averaging> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    seen.mul_(0.5).add_(gradients[0].sum().detach());
    return {gradients[0] * 2 * seen};
  }
};

struct Reading : Function<Reading> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    return {gradients[0] * seen.exp()};
  }
};

struct Case {
  const char* name;
  Tensor (*call)(const Tensor& x);
};
const std::vector<Case> cases = {
    {"counting", [](const Tensor& x) { return Counting::apply(x).sin().sum(); }},
    {"averaging", [](const Tensor& x) { return Averaging::apply(x).sin().sum(); }},
    {"reading", [](const Tensor& x) { return Reading::apply(x).sin().sum(); }},
};

/// Returns `seen`, the gradient and the version of `seen` after each backward pass.
std::vector<Tensor> train(bool compiled, Tensor (*call)(const Tensor& x)) {
  seen = torch::ones({});
  auto x = torch::arange(3, torch::kFloat).requires_grad_();
  auto f = compile(call);
  std::vector<Tensor> states;
  const auto note = [&] {
    states.push_back(seen.clone());
    states.push_back(x.grad().clone());
    states.push_back(torch::tensor(static_cast<int64_t>(seen._version())));
  };
  for (int step = 0; step < 2; ++step) {
    const auto loss = compiled ? f(x) : call(x);
    loss.backward({}, true);
    note();
    loss.backward({}, true);
    note();
    seen.fill_(step + 3.0);  // between a call and its backward pass
    loss.backward();
    note();
  }
  if (compiled) EXPECT_EQ(f.report().captures, 1U);
  return states;
}

TEST(BackwardWrites, EachRunReadsAndWritesWhatIsThere) {
  for (const auto& [name, call] : cases) {
    const auto eager = train(false, call), compiled = train(true, call);
    ASSERT_EQ(eager.size(), compiled.size());
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_TRUE(torch::allclose(eager[i], compiled[i])) << name << " " << i << "\n"
                                                          << eager[i] << "\n"
                                                          << compiled[i];
  }
}

TEST(BackwardWrites, ASecondRunOfAReleasedPassIsAnError) {
  seen = torch::ones({});
  auto x = torch::ones({3}, torch::requires_grad());
  auto loss = compile(cases[1].call)(x);
  loss.backward();
  const auto after = seen.clone();
  EXPECT_THROW(loss.backward(), std::exception);
  EXPECT_TRUE(seen.equal(after));
}

TEST(BackwardWrites, AreRefusedWithCreateGraph) {
  seen = torch::ones({});
  auto x = torch::ones({3}, torch::requires_grad());
  auto loss = compile(cases[0].call)(x);
  antegrad::test::expect_error(
      antegrad::ErrorCode::NeedsGrad, "backward",
      "the backward pass of a custom function writes to a tensor of shape [] that was made outside",
      {x, seen}, [&] { torch::autograd::grad({loss}, {x}, {}, true, true); });
}

TEST(BackwardWrites, ReadsWorkWithCreateGraph) {
  Tensor results[2];
  for (bool compiled : {false, true}) {
    seen = torch::ones({});
    auto x = torch::arange(3, torch::kFloat).requires_grad_();
    auto f = compile(cases[2].call);
    const auto loss = compiled ? f(x) : cases[2].call(x);
    seen.fill_(2);
    const auto first = torch::autograd::grad({loss}, {x}, {}, true, true)[0];
    results[compiled] = torch::autograd::grad({first.pow(2).sum()}, {x})[0];
  }
  EXPECT_TRUE(torch::allclose(results[0], results[1]));
}

}  // namespace
