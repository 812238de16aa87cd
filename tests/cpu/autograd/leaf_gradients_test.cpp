// Gradients that the backward pass accumulates into leaves itself: when it does, when it must leave that to
// the engine, and that the difference is not observable.
#include "runtime/leaf_gradients.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <thread>

#include "support/seeds.h"
#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// Checks right before the engine runs the node whether the leaves can be accumulated into directly.
struct Asks : torch::autograd::FunctionPreHook {
  Asks(Node& node, int& times) : node(node), times(times) {}
  variable_list operator()(const variable_list& gradients) override {
    times += runtime::LeafGradients::possible(node) ? 1 : 0;
    return gradients;
  }
  Node& node;
  int& times;
};

/// Two leaves, a function of them, and how its gradients are requested.
struct Case {
  using Model = std::function<Tensor(const Tensor&, const Tensor&)>;
  using Finish = std::function<void(const Tensor& out, const Tensors& leaves)>;
  Model model = [](const Tensor& a, const Tensor& b) { return (a * b.sin()).sum(); };
  Finish finish = [](const Tensor& out, const Tensors&) { out.backward(); };
  std::function<void(const Tensors& leaves)> prepare = [](const Tensors&) {};
  bool transposed = false;
};

Tensors leaves_of(const Case& c) {
  test::manual_seed(0);
  Tensors leaves;
  for (int i = 0; i < 2; ++i) {
    auto values = torch::randn({4, 3});
    if (c.transposed) values = values.t();
    leaves.push_back(values.detach().requires_grad_());
  }
  c.prepare(leaves);
  return leaves;
}

/// Returns in how many of two passes, which are compared with eager's, the leaves could be accumulated into
/// directly.
int taken_in(const Case& c) {
  const auto compiled = compile(c.model);
  const auto eager_leaves = leaves_of(c), leaves = leaves_of(c);
  int times = 0;
  for (int pass = 0; pass < 2; ++pass) {
    auto out = compiled(leaves[0], leaves[1]);
    const auto node = out.grad_fn();
    node->add_pre_hook(std::make_unique<Asks>(*node, times));
    c.finish(out, leaves);
    c.finish(c.model(eager_leaves[0], eager_leaves[1]), eager_leaves);
    EXPECT_TRUE(std::none_of(node->post_hooks().begin(), node->post_hooks().end(), [](const auto& hook) {
      return dynamic_cast<const runtime::LeafGradients*>(hook.get()) != nullptr;
    }));
    for (size_t i = 0; i < leaves.size(); ++i) {
      const auto &expected = eager_leaves[i].grad(), &found = leaves[i].grad();
      if (!expected.defined() || !found.defined()) {
        EXPECT_EQ(expected.defined(), found.defined());
        continue;
      }
      EXPECT_TRUE(found.allclose(expected)) << "leaf " << i << " after pass " << pass;
      EXPECT_EQ(found.strides(), expected.strides());
      EXPECT_EQ(found._version(), expected._version());
      EXPECT_EQ(found.requires_grad(), expected.requires_grad());
      EXPECT_EQ(found.use_count(), expected.use_count());
    }
  }
  return times;
}

TEST(LeafGradients, OfAPlainBackward) {
  EXPECT_EQ(taken_in({}), 2);
  EXPECT_EQ(taken_in({.transposed = true}), 2);
}

TEST(LeafGradients, ReplaceAddAndKeepTheTensor) {
  auto w = torch::ones({3}).requires_grad_();
  auto compiled = compile([](const Tensor& a) { return (a * 3).sum(); });
  compiled(w).backward();
  const auto first = w.grad();
  compiled(w).backward();
  EXPECT_TRUE(w.grad().is_same(first));
  EXPECT_TRUE(first.equal(torch::full({3}, 6.0F)));
  EXPECT_EQ(first._version(), 1);
  w.mutable_grad().reset();
  compiled(w).backward();
  EXPECT_FALSE(w.grad().is_same(first));
  EXPECT_TRUE(w.grad().equal(torch::full({3}, 3.0F)));
}

TEST(LeafGradients, OneForSeveralLeavesIsCopied) {  // a + b: each leaf must own its copy of the one gradient
  auto a = torch::ones({3}).requires_grad_(), b = torch::ones({3}).requires_grad_();
  compile([](const Tensor& x, const Tensor& y) { return (x + y).sum(); })(a, b).backward();
  EXPECT_FALSE(a.grad().is_alias_of(b.grad()));
  a.mutable_grad().mul_(5);
  EXPECT_TRUE(b.grad().equal(torch::ones({3})));
}

TEST(LeafGradients, OnlyOfSome) {
  Case c;
  c.model = [](const Tensor& a, const Tensor& b) { return (a * b.detach()).sum(); };
  EXPECT_EQ(taken_in(c), 2);
  c.prepare = [](const Tensors& leaves) { leaves[1].set_requires_grad(false); };
  EXPECT_EQ(taken_in(c), 2);
}

TEST(LeafGradients, NotWhenTheGraphIsKept) {
  Case c;
  c.finish = [](const Tensor& out, const Tensors&) {
    out.backward({}, /*retain_graph=*/true);
    out.backward({}, /*retain_graph=*/true);
  };
  EXPECT_EQ(taken_in(c), 0);
}

TEST(LeafGradients, NotWhenSomeAreAskedFor) {
  Case c;
  c.finish = [](const Tensor& out, const Tensors& leaves) { out.backward({}, {}, false, {leaves[1]}); };
  EXPECT_EQ(taken_in(c), 0);
  c.finish = [](const Tensor& out, const Tensors& leaves) {
    leaves[0].mutable_grad() = torch::autograd::grad({out}, {leaves[0]})[0];
  };
  EXPECT_EQ(taken_in(c), 0);
}

TEST(LeafGradients, NotOfGradientsWithAHistory) {
  Case c;
  c.finish = [](const Tensor& out, const Tensors& leaves) {
    out.backward({}, true, /*create_graph=*/true);
    for (const auto& leaf : leaves) leaf.mutable_grad() = leaf.grad().detach();
  };
  EXPECT_EQ(taken_in(c), 0);
}

TEST(LeafGradients, NotOfLeavesWithHooks) {
  Case c;
  c.prepare = [](const Tensors& leaves) { leaves[1].register_hook([](const Tensor& g) { return g * 7; }); };
  EXPECT_EQ(taken_in(c), 0);
}

TEST(LeafGradients, NotOfLeavesThatOthersUse) {
  Case c;
  c.finish = [](const Tensor& out, const Tensors& leaves) { (out + leaves[1].pow(2).sum()).backward(); };
  EXPECT_EQ(taken_in(c), 0);
  auto w = torch::ones({3}).requires_grad_();
  compile([](const Tensor& x, const Tensor& y) { return (x * y.sin()).sum(); })(w, w).backward();
  EXPECT_TRUE(w.grad().allclose(torch::ones({3}).sin() + torch::ones({3}).cos()));
}

TEST(LeafGradients, NotWhereTheyGoOnToOtherNodes) {
  auto w = torch::ones({3}).requires_grad_(), u = torch::ones({3}).requires_grad_();
  auto out = compile([](const Tensor& x, const Tensor& y) { return (x * y).sum(); })(w * 2, u);
  int times = 0;
  out.grad_fn()->add_pre_hook(std::make_unique<Asks>(*out.grad_fn(), times));
  out.backward();
  EXPECT_EQ(times, 0);
  EXPECT_TRUE(w.grad().equal(torch::full({3}, 2.0F)));
  EXPECT_TRUE(u.grad().equal(torch::full({3}, 2.0F)));
}

TEST(LeafGradients, NotInAnomalyModeOrUnderProfilers) {
  {
    const torch::autograd::DetectAnomalyGuard anomalies(false);
    EXPECT_EQ(taken_in({}), 0);
  }
  int seen = 0;
  static thread_local int* counter;
  counter = &seen;
  const auto handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function)
                                                                -> std::unique_ptr<at::ObserverContext> {
                                   *counter +=
                                       std::string_view(function.name()).ends_with("AccumulateGrad") ? 1 : 0;
                                   return nullptr;
                                 }).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  EXPECT_EQ(taken_in({}), 0);
  at::removeCallback(handle);
  EXPECT_EQ(seen, 8);  // two leaves, two passes, eager and compiled
}

TEST(LeafGradients, NotWhenAHookOfTheUserComesAfterTheNode) {
  struct Doubles : torch::autograd::FunctionPostHook {
    variable_list operator()(const variable_list& gradients, const variable_list&) override {
      variable_list out;
      for (const auto& gradient : gradients) out.push_back(gradient * 2);
      return out;
    }
  };
  auto w = torch::ones({3}).requires_grad_();
  auto out = compile([](const Tensor& x) { return (x * 3).sum(); })(w);
  out.grad_fn()->add_post_hook(std::make_unique<Doubles>());
  out.backward();
  EXPECT_TRUE(w.grad().equal(torch::full({3}, 6.0F)));
}

TEST(LeafGradients, NotWhenWhatComesInIsLarge) {
  Case c;
  c.model = [](const Tensor& a, const Tensor& b) { return a.sum() * torch::ones({1 << 15}) + b.sum(); };
  c.finish = [](const Tensor& out, const Tensors&) { out.backward(torch::ones_like(out)); };
  EXPECT_EQ(taken_in(c), 0);
}

TEST(LeafGradients, TheSecondPassThrowsAsInEager) {
  const auto twice = [](const auto& function) {
    auto w = torch::ones({3}).requires_grad_();
    auto out = function(w);
    out.backward();
    return thrown_by([&] { out.backward(); });
  };
  const auto square = [](const Tensor& x) { return (x * x).sum(); };
  EXPECT_EQ(twice(compile(square)), twice(square));
}

TEST(LeafGradients, NothingIsLeftOfAPassThatFails) {
  auto w = torch::ones({3}).requires_grad_();
  auto out = compile([](const Tensor& x) { return (x * x).sum(); })(w);
  {
    const torch::NoGradGuard no_grad;
    w.add_(1);
  }
  EXPECT_THROW(out.backward(), c10::Error);
  EXPECT_TRUE(out.grad_fn()->post_hooks().empty());
  EXPECT_FALSE(w.grad().defined());
}

TEST(LeafGradients, OfOneLeafInManyThreads) {
  constexpr int kThreads = 6, kSteps = 200;
  auto w = torch::ones({16}).requires_grad_();
  auto compiled = compile([](const Tensor& x) { return (x * x).sum(); });
  compiled(w).backward();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) compiled(w).backward();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(w.grad().equal(torch::full({16}, 2.0F * (kThreads * kSteps + 1))));
}

}  // namespace
}  // namespace antegrad::test
