#pragma once
// Runs functions that cannot be captured as a whole, eagerly and compiled in parts, and compares everything
// that can be seen of them.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "support/leaf.h"
#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;
/// Takes and returns tensors; may write its arguments.
using Program = std::function<Tensors(const Tensors&)>;

inline Options in_parts() {
  Options options;
  options.unsupported = Unsupported::Break;
  options.rng = Rng::Eager;
  return options;
}

/// The gradients of a weighted sum of all results that have a history, and of the squares of these gradients.
inline Tensors gradients(const Tensors& results, const Tensors& leaves, bool second_order) {
  at::Tensor sum;
  for (const auto& result : results) {
    if (!result.defined() || !result.requires_grad()) continue;
    auto part = (result * at::linspace(0.5, 1.5, result.numel(), result.options()).view_as(result)).sum();
    sum = sum.defined() ? sum + part : part;
  }
  Tensors wanted;
  for (const auto& leaf : leaves)
    if (leaf.defined() && leaf.requires_grad() && leaf.is_leaf()) wanted.push_back(leaf);
  if (!sum.defined() || wanted.empty()) return {};
  auto first = torch::autograd::grad({sum}, wanted, {}, true, second_order, true);
  if (!second_order) return first;
  at::Tensor squares;
  for (const auto& gradient : first)
    if (gradient.defined() && gradient.requires_grad())
      squares = squares.defined() ? squares + gradient.square().sum() : gradient.square().sum();
  if (!squares.defined()) return first;
  for (auto& gradient : torch::autograd::grad({squares}, wanted, {}, true, false, true))
    first.push_back(gradient);
  return first;
}

inline at::Tensor generator_state() { return at::detail::getDefaultCPUGenerator().get_state(); }

/// Compares gradients up to rounding: autograd adds up those of several parts in another order.
inline ::testing::AssertionResult close(const Tensors& eager, const Tensors& compiled, double rounding) {
  if (eager.size() != compiled.size())
    return ::testing::AssertionFailure() << eager.size() << " and " << compiled.size() << " gradients";
  for (size_t i = 0; i < eager.size(); ++i) {
    const auto &a = eager[i], &b = compiled[i];
    if (a.defined() != b.defined() || (a.defined() && (a.sizes() != b.sizes() || a.dtype() != b.dtype() ||
                                                       a.requires_grad() != b.requires_grad())))
      return ::testing::AssertionFailure() << "gradients " << i << " are of different kinds";
    if (!a.defined() || a.numel() == 0) continue;
    const auto difference = (a - b).abs().max().item<double>();
    const auto size = a.abs().max().item<double>();
    if (!(difference <= rounding * (size + 1e-3)))
      return ::testing::AssertionFailure() << "gradients " << i << " differ:\n" << a << "\nand\n" << b;
  }
  return ::testing::AssertionSuccess();
}

struct PartsOptions {
  Options compile = in_parts();
  int calls = 3;
  bool second_order = true;
  bool must_break = true;
  double rounding = 2e-5;  ///< relative to the largest element of a gradient
};

/// `make(call)` returns the arguments of a call; it is called once for eager and once for compiled.
template <class Make>
Report same_in_parts(const Program& program, const Make& make, PartsOptions options = {}) {
  const auto compiled =
      compile([program](const Tensors& tensors) { return program(tensors); }, options.compile);
  for (int call = 0; call < options.calls; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    const auto run = [&](const auto& function, Tensors& arguments, Tensors& results, Tensors& derived) {
      test::manual_seed(call);
      arguments = make(call);
      test::manual_seed(1000 + call);
      results = function(arguments);
      const auto generator = generator_state();
      derived = gradients(results, arguments, options.second_order);
      return generator;
    };
    Tensors arguments[2], results[2], derived[2];
    const auto eager_generator = run(program, arguments[0], results[0], derived[0]);
    const auto generator = run(compiled, arguments[1], results[1], derived[1]);
    EXPECT_TRUE(same(results[0], results[1]));
    EXPECT_TRUE(same_state(arguments[0], arguments[1]));
    EXPECT_TRUE(close(derived[0], derived[1], options.rounding));
    EXPECT_TRUE(at::equal(eager_generator, generator)) << "the random generator is in another state";
  }
  const auto report = compiled.report();
  EXPECT_EQ(report.eager_calls, 0U) << ::testing::PrintToString(report.eager_reasons);
  if (options.must_break) {
    EXPECT_EQ(report.broken_calls, static_cast<uint64_t>(options.calls));
    EXPECT_FALSE(report.breaks.empty());
    EXPECT_GT(report.stretches, 0U);
  }
  return report;
}

}  // namespace antegrad::test
