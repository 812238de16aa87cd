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

/// Whether a tensor has the same bits in all processes.
inline bool is_same_everywhere(const Tensor& tensor, const Group& group) {
  const auto all = distributed::all_gather(tensor.detach().reshape({1, -1}), group);
  return at::equal(all, all[0].expand_as(all));
}

}  // namespace antegrad::test::data_parallel
