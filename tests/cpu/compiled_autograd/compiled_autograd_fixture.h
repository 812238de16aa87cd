#pragma once
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <vector>

#include "support/closeness.h"
#include "support/leaf.h"
#include "support/seeds.h"

namespace antegrad::test {

using at::Tensor;
using Tensors = std::vector<Tensor>;

class CompiledAutogradTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::manual_seed(4);
    compiled_autograd::reset();
    compiled_autograd::set_stance(compiled_autograd::Stance::Normal);
  }
  static compiled_autograd::Stats stats() { return compiled_autograd::stats(); }
};

inline Tensors dense(const Tensors& tensors) {
  Tensors out;
  for (const auto& tensor : tensors)
    out.push_back(tensor.defined() && tensor.layout() != at::kStrided ? tensor.to_dense() : tensor);
  return out;
}

/// Runs a program from the same seed by the engine and compiled, and compares the results. Where sums cancel,
/// the engine runs it again to find how close they must be.
inline void same_as_eager(const std::function<Tensors()>& program, uint64_t engine_passes = 0) {
  const auto run = [&] {
    test::manual_seed(7);
    return program();
  };
  const auto eager = run();
  Tensors compiled;
  const auto before = compiled_autograd::stats();
  {
    const CompiledAutograd on;
    compiled = run();
  }
  const auto after = compiled_autograd::stats();
  EXPECT_GT(after.passes, before.passes);
  EXPECT_EQ(after.eager - before.eager, engine_passes)
      << (after.eager_reasons.empty() ? "" : after.eager_reasons.back());
  ASSERT_EQ(eager.size(), compiled.size());
  for (size_t i = 0; i < eager.size(); ++i) {
    ASSERT_EQ(eager[i].defined(), compiled[i].defined()) << i;
    if (!eager[i].defined()) continue;
    ASSERT_EQ(eager[i].layout(), compiled[i].layout()) << i;
    const bool is_strided = eager[i].layout() == at::kStrided;
    EXPECT_TRUE(!is_strided || eager[i].strides() == compiled[i].strides()) << i;
  }
  EXPECT_EQ(Reference([&] { return dense(run()); }, dense(eager)).difference(dense(compiled)), std::nullopt);
}

inline torch::nn::Sequential small_net() {
  return torch::nn::Sequential(torch::nn::Linear(4, 6), torch::nn::Tanh(), torch::nn::Linear(6, 2));
}

inline Tensors gradients(const torch::nn::Sequential& net) {
  Tensors out;
  for (const auto& parameter : net->parameters()) out.push_back(parameter.grad());
  return out;
}

}  // namespace antegrad::test
