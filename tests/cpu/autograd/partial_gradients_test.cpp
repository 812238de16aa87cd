// Gradients of some outputs with respect to some inputs: each combination has a backward pass of its own.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/seeds.h"

namespace antegrad {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Function = Tensors (*)(const Tensors&);

/// Returns all non-empty subsets of `count` things.
std::vector<std::vector<size_t>> subsets(size_t count) {
  std::vector<std::vector<size_t>> all;
  for (size_t bits = 1; bits < (size_t{1} << count); ++bits) {
    all.emplace_back();
    for (size_t i = 0; i < count; ++i)
      if ((bits >> i & 1) != 0) all.back().push_back(i);
  }
  return all;
}

Tensors chosen(const Tensors& from, const std::vector<size_t>& which) {
  Tensors tensors;
  for (auto i : which) tensors.push_back(from[i]);
  return tensors;
}

Tensors gradients(const Tensors& roots, const Tensors& targets) {
  Tensors tangents;
  for (size_t i = 0; i < roots.size(); ++i)
    tangents.push_back(at::full_like(roots[i], static_cast<double>(i) + 0.5));
  return torch::autograd::grad(roots, targets, tangents, true, false, true);
}

void check(const Function& function, const Options& options) {
  test::manual_seed(1);
  Tensors inputs = {torch::randn({40, 60}), torch::randn({50, 40}), torch::randn({50})};
  for (auto& input : inputs) input.requires_grad_();
  const auto compiled = compile(function, options);
  const auto expected = function(inputs), found = compiled(inputs);
  for (const auto& outputs : subsets(expected.size()))
    for (const auto& targets : subsets(inputs.size())) {
      const auto eager = gradients(chosen(expected, outputs), chosen(inputs, targets));
      const auto own = gradients(chosen(found, outputs), chosen(inputs, targets));
      for (size_t i = 0; i < eager.size(); ++i) {
        SCOPED_TRACE(c10::str("outputs ", c10::ArrayRef<size_t>(outputs), ", inputs ",
                              c10::ArrayRef<size_t>(targets), ", gradient ", i));
        ASSERT_EQ(eager[i].defined(), own[i].defined());
        if (!eager[i].defined()) continue;
        const auto largest = eager[i].abs().max().item<double>();
        EXPECT_LE((eager[i] - own[i]).abs().max().item<double>(), 1e-5 * largest);
      }
    }
}

void check_all(const Options& options) {
  check(
      [](const Tensors& x) -> Tensors {
        const auto h = at::mm(x[0].sin().t(), x[1].cos().t());
        return {h * 3, h.cos()};
      },
      options);
  check(
      [](const Tensors& x) -> Tensors {
        const auto h = at::mm(x[0].t(), x[1].t() * 2).sin();
        return {h.slice(0, 10, 30).cos(), h.t().slice(0, 5) * x[2].slice(0, 5).unsqueeze(1), h.sum(0) * x[2]};
      },
      options);
  check(
      [](const Tensors& x) -> Tensors {
        const auto h = at::addmm(x[2], x[0].tanh().t(), x[1].t());
        const auto parts = h.split(20);
        return {parts[0].exp().mean(), at::mm(parts[1], h.t()), at::softmax(h, 1).select(1, 3)};
      },
      options);
}

TEST(PartialGradients, AreThoseOfEager) { check_all({}); }

// The backward pass recomputes the sines and looks for those that equal the largest.
TEST(PartialGradients, TheLargestOfHalvesIsFoundAgain) {
  for (const auto type : {at::kBFloat16, at::kHalf}) {
    const auto function = [](const Tensor& x) { return at::amax(x.sin(), {1}); };
    const auto x = torch::randn({33, 18}).to(type).requires_grad_();
    const auto expected = torch::autograd::grad({function(x).sum()}, {x})[0];
    const auto found = torch::autograd::grad({compile(function)(x).sum()}, {x})[0];
    EXPECT_TRUE(at::allclose(expected, found, 0.02, 0.02)) << found.isnan().sum();
  }
}

TEST(PartialGradients, WithEachPolicyAndBackend) {
  for (const auto backend : {Backend::Default, Backend::NoFuse, Backend::Eager}) {
    Options options;
    options.backend = backend;
    options.policy = RecomputeAll{};
    check_all(options);
  }
}

TEST(PartialGradients, DebugCompareFindsNothingWrong) {
  Options options;
  options.debug_compare = true;
  options.verify = true;
  check_all(options);
}

}  // namespace
}  // namespace antegrad
