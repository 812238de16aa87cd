#pragma once
// Tests on a CUDA device compare compiled functions with the same functions run by eager LibTorch there. They
// are skipped where there is no device.
#include <ATen/ATen.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "support/device.h"
#include "support/seeds.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = missing_cuda(); !missing.empty()) GTEST_SKIP() << missing;
  }
};

inline at::TensorOptions on_cuda(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(type).device(at::kCUDA);
}

inline at::Tensor cuda_leaf(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return at::randn(sizes, on_cuda()).to(type).detach().requires_grad_(true);
}

/// Options that a test of generated kernels needs whatever the defaults are.
inline Options cuda_options(std::string name) {
  Options options;
  options.name = std::move(name);
  options.cuda_kernels = true;
  options.rng = Rng::Eager;
  return options;
}

/// Whether generated kernels are tested, not LibTorch's.
inline bool generates_kernels() {
  const char* value = std::getenv("ANTEGRAD_CUDA_KERNELS");
  return value == nullptr || std::string_view(value) != "0";
}

/// Relative errors that reordered sums of some thousand numbers add up to.
inline double tolerance_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-10;
    case at::kHalf:
      return 1e-2;
    case at::kBFloat16:
      return 4e-2;
    default:
      return 2e-4;
  }
}

/// Returns how two lists of results differ; nothing when they do not. Elements are compared relative to
/// themselves and to the root mean square of their tensor. `computed`: a type that intermediate results were
/// rounded to.
inline std::optional<std::string> difference(const Tensors& eager, const Tensors& compiled,
                                             at::ScalarType computed = at::kDouble) {
  if (eager.size() != compiled.size())
    return c10::str(eager.size(), " results in eager and ", compiled.size(), " compiled");
  for (size_t i = 0; i < eager.size(); ++i) {
    const auto &a = eager[i], &b = compiled[i];
    const auto what = c10::str("result ", i, ": ");
    if (a.defined() != b.defined()) return what + "defined only on one side";
    if (!a.defined()) continue;
    if (a.scalar_type() != b.scalar_type() || a.device() != b.device())
      return c10::str(what, a.options(), " in eager and ", b.options(), " compiled");
    if (a.sizes() != b.sizes()) return c10::str(what, "sizes ", a.sizes(), " and ", b.sizes());
    if (a.numel() > 0 && a.strides() != b.strides())
      return c10::str(what, "strides ", a.strides(), " and ", b.strides());
    if (!at::isFloatingType(a.scalar_type())) {
      if (!at::equal(a, b)) return what + "integers differ";
      continue;
    }
    const auto x = a.detach().cpu().to(at::kDouble), y = b.detach().cpu().to(at::kDouble);
    const auto same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
    const auto finite = at::where(x.isfinite(), x, 0.0);
    const auto scale = finite.abs() + (x.numel() > 0 ? finite.pow(2).mean().sqrt() : finite.sum());
    const auto wrong = same.logical_not().logical_and(
        ((x - y).abs() <= std::max(tolerance_of(a.scalar_type()), tolerance_of(computed)) * scale)
            .logical_not());
    if (!wrong.any().item<bool>()) continue;
    const auto worst = wrong.flatten().to(at::kByte).argmax().item<int64_t>();
    return c10::str(what, wrong.sum().item<int64_t>(), " of ", x.numel(), " elements differ, element ", worst,
                    " is ", x.flatten()[worst].item<double>(), " in eager and ",
                    y.flatten()[worst].item<double>(), " compiled");
  }
  return std::nullopt;
}

using Function = std::function<Tensors(const Tensors&)>;

/// Runs a function on copies of the inputs: results, then gradients of the sum of floating results.
inline Tensors results_and_gradients(const Function& function, const Tensors& given, bool gradients = true) {
  Tensors inputs;
  for (const auto& tensor : given)
    inputs.push_back(tensor.requires_grad() ? tensor.detach().requires_grad_(true) : tensor);
  manual_seed(1);
  auto results = function(inputs);
  at::Tensor loss;
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].defined() && results[i].requires_grad()) {
      const auto weights =
          at::arange(results[i].numel(), on_cuda(at::kDouble)).add(i).cos().view(results[i].sizes());
      const auto part = (results[i].to(at::kDouble) * weights).sum();
      loss = loss.defined() ? loss + part : part;
    }
  if (gradients && loss.defined()) {
    loss.backward();
    for (const auto& input : inputs)
      if (input.requires_grad()) results.push_back(input.grad());
  }
  for (auto& result : results)
    if (result.defined()) result = result.detach();
  return results;
}

/// Compares a compiled function with eager in three calls, the last of them with other inputs of the same
/// sizes.
inline void expect_as_eager(const std::string& name, const Function& function, const Tensors& inputs,
                            Options options, at::ScalarType computed = at::kDouble) {
  auto compiled = compile(function, options);
  for (int call = 0; call < 3; ++call) {
    Tensors given;
    for (const auto& tensor : inputs)
      given.push_back(call == 2 && tensor.is_floating_point()
                          ? (tensor.detach() * 0.5).requires_grad_(tensor.requires_grad())
                          : tensor);
    const auto eager = results_and_gradients(function, given);
    const auto fast = results_and_gradients([&](const Tensors& t) { return compiled(t); }, given);
    const auto differs = difference(eager, fast, computed);
    EXPECT_EQ(differs, std::nullopt) << name << ", call " << call;
    if (differs) return;
  }
  EXPECT_EQ(compiled.report().captures, 1U) << name;
  EXPECT_EQ(compiled.report().eager_calls, 0U) << name;
}
inline void expect_as_eager(const std::string& name, const Function& function, const Tensors& inputs) {
  expect_as_eager(name, function, inputs, cuda_options(name));
}

}  // namespace antegrad::test
