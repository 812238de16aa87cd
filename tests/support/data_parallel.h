#pragma once
// For tests of training steps in several processes, each of which runs a disabled test.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/processes.h"
#include "support/seeds.h"

namespace antegrad::test::data_parallel {

using at::Tensor;
using distributed::Group;
namespace nn = torch::nn;
namespace to = torch::optim;
using Tensors = std::vector<Tensor>;
using Optimizer = std::function<std::unique_ptr<to::Optimizer>(const Tensors&)>;

inline Group join(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  return distributed::gloo(meeting_file(), own_rank(), number_of_processes(),
                           {.name = "test", .timeout = timeout, .host = "127.0.0.1"});
}

inline void run_processes(const std::string& test, int64_t count) {
  if (!distributed::available()) GTEST_SKIP() << "missing: c10d with Gloo";
  Processes(test, count).expect_success();
}

/// A batch that all processes know.
inline Tensor batch(int64_t which, at::IntArrayRef sizes, at::ScalarType type) {
  test::manual_seed(100 + static_cast<uint64_t>(which));
  return torch::randn(sizes, at::kDouble).to(type);
}
/// The part of a process.
inline Tensor part(const Tensor& whole, const Group& group) {
  return whole.chunk(group.size())[static_cast<size_t>(group.rank())];
}

inline nn::Sequential net_of(uint64_t seed, at::ScalarType type) {
  test::manual_seed(seed);
  nn::Sequential net(nn::Linear(5, 7), nn::Tanh(), nn::LayerNorm(nn::LayerNormOptions({7})), nn::Linear(7, 7),
                     nn::GELU(), nn::Linear(7, 2));
  net->to(type);
  return net;
}

inline auto loss_of(nn::Sequential net) {
  return [net](const Tensor& x) mutable { return net->forward(x).square().mean(); };
}

template <class Kind, class Settings>
Optimizer optimizer_of(const Settings& settings) {
  return [=](const Tensors& parameters) { return std::make_unique<Kind>(parameters, settings); };
}
inline const Optimizer kMomentum =
    optimizer_of<to::SGD>(to::SGDOptions(0.05).momentum(0.9).nesterov(true).weight_decay(0.01));
inline const Optimizer kAdamW = optimizer_of<to::AdamW>(to::AdamWOptions(0.01).weight_decay(0.1));

inline void expect_close(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool narrow = expected[i].scalar_type() == at::kFloat;
    EXPECT_TRUE(at::allclose(actual[i], expected[i], narrow ? 1e-4 : 1e-9, narrow ? 1e-5 : 1e-11))
        << i << "\n"
        << actual[i] << "\n"
        << expected[i];
  }
}

/// Many processes take long where they have few cores.
inline std::vector<int64_t> bucket_sizes(const Group& group) {
  if (group.size() > 2) return {150};
  return {8, 150, 1 << 20};
}

/// Whether a tensor has the same bits in all processes.
inline bool is_same_everywhere(const Tensor& tensor, const Group& group) {
  const auto all = distributed::all_gather(tensor.detach().reshape({1, -1}), group);
  return at::equal(all, all[0].expand_as(all));
}

/// Trains in all processes, and in this one on the whole batch.
inline void expect_same_training(const Group& group, const Optimizer& make, StepOptions options,
                                 at::ScalarType type) {
  auto whole = net_of(7, type), net = net_of(7 + static_cast<uint64_t>(group.rank()), type);
  const auto reference = make(whole->parameters()), own = make(net->parameters());
  auto alone = options;
  alone.data_parallel.reset();
  alone.gradients = Gradients::Keep;
  const auto expected = training_step(loss_of(whole), *reference, alone);
  const auto step = training_step(loss_of(net), *own, options);
  for (int64_t i = 0; i < 4 * options.accumulate; ++i) {
    const auto x = batch(10 + i, {4 * group.size(), 5}, type);
    expected(x);
    step(part(x, group));
    EXPECT_EQ(step.last().updated, expected.last().updated);
    EXPECT_NEAR(step.last().gradient_norm, expected.last().gradient_norm,
                1e-4 * expected.last().gradient_norm);
  }
  expect_close(net->parameters(), whole->parameters());
  for (const auto& parameter : net->parameters()) EXPECT_TRUE(is_same_everywhere(parameter, group));
  if (options.gradients == Gradients::Drop) {
    EXPECT_EQ(step.report().captures, 1U);
    return;
  }
  Tensors gradients, expected_gradients;
  for (const auto& parameter : net->parameters()) gradients.push_back(parameter.grad());
  for (const auto& parameter : whole->parameters()) expected_gradients.push_back(parameter.grad());
  expect_close(gradients, expected_gradients);
}

}  // namespace antegrad::test::data_parallel
