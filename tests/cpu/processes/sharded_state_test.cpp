// Training steps in several processes, each of which has the optimizer's state of some parameters only.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <antegrad/optimizers.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/data_parallel.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

using namespace data_parallel;

StepOptions sharded(const Group& group, int64_t bucket_bytes = 1 << 20) {
  StepOptions options;
  options.data_parallel =
      DataParallel{.gradients = AllReduce(group, {.bucket_bytes = bucket_bytes}), .shard_state = true};
  return options;
}

TEST(ShardedStateRank, DISABLED_Training) {
  const auto group = join();
  for (const auto type : {at::kFloat, at::kDouble})
    for (const auto& make : {kMomentum, kAdamW})
      for (const auto bucket_bytes : bucket_sizes(group)) {
        auto options = sharded(group, bucket_bytes);
        expect_same_training(group, make, options, type);
        options.clip_norm = 0.05;
        expect_same_training(group, make, options, type);
        options.skip_nonfinite = true;
        options.accumulate = 3;
        expect_same_training(group, make, options, type);
      }
  for (const auto norm_type : {1.0, 3.0, std::numeric_limits<double>::infinity()}) {
    auto options = sharded(group);
    options.clip_norm = 0.05;
    options.norm_type = norm_type;
    expect_same_training(group, kMomentum, options, at::kDouble);
    options.options.backend = Backend::Eager;
    expect_same_training(group, kMomentum, options, at::kDouble);
  }
}
TEST(ShardedState, TwoProcessesEqualOne) { run_processes("ShardedStateRank.DISABLED_Training", 2); }
TEST(ShardedState, FourProcessesEqualOne) { run_processes("ShardedStateRank.DISABLED_Training", 4); }

/// Trains, gathers the state, saves it, and goes on from there in one process, and sharded.
void expect_same_checkpoints(const Group& group, const Optimizer& make, const nn::Sequential& net,
                             const nn::Sequential& whole) {
  const auto optimizer = make(net->parameters()), reference = make(whole->parameters());
  const auto step = training_step(loss_of(net), *optimizer, sharded(group));
  const auto expected = training_step(loss_of(whole), *reference);
  const auto x = [&](int64_t i) { return batch(i, {4 * group.size(), 5}, at::kDouble); };
  for (int64_t i = 0; i < 3; ++i) {
    step(part(x(i), group));
    expected(x(i));
  }
  step.gather_state();
  EXPECT_EQ(optimizer->state().size(), reference->state().size());
  std::stringstream file;
  torch::save(*optimizer, file);
  const auto loaded = make(net->parameters());
  torch::load(*loaded, file);
  training_step(loss_of(net), *loaded)(x(3));  // without other processes
  expected(x(3));
  expect_close(net->parameters(), whole->parameters());
  const auto again = training_step(loss_of(net), *loaded, sharded(group));
  again(part(x(4), group));
  expected(x(4));
  expect_close(net->parameters(), whole->parameters());
  EXPECT_LT(loaded->state().size(), std::max<size_t>(reference->state().size(), 1));
}

nn::Sequential matrices() {
  test::manual_seed(5);
  nn::Sequential net(nn::Linear(nn::LinearOptions(5, 6).bias(false)), nn::Tanh(),
                     nn::Linear(nn::LinearOptions(6, 2).bias(false)));
  net->to(at::kDouble);
  return net;
}

TEST(ShardedStateRank, DISABLED_Checkpoints) {
  const auto group = join();
  const std::vector<Optimizer> all = {kMomentum,
                                      kAdamW,
                                      optimizer_of<to::Adam>(to::AdamOptions(0.01).amsgrad(true)),
                                      optimizer_of<to::Adagrad>(to::AdagradOptions(0.05)),
                                      optimizer_of<to::RMSprop>(to::RMSpropOptions(0.01).centered(true)),
                                      optimizer_of<Lion>(LionOptions(0.01)),
                                      optimizer_of<NAdam>(NAdamOptions(0.01)),
                                      optimizer_of<Lamb>(LambOptions(0.01)),
                                      optimizer_of<Adafactor>(AdafactorOptions(0.01))};
  for (const auto& make : all)
    expect_same_checkpoints(group, make, net_of(1, at::kDouble), net_of(1, at::kDouble));
  expect_same_checkpoints(group, optimizer_of<Muon>(MuonOptions(0.01).ns_dtype(at::kDouble)), matrices(),
                          matrices());
}
TEST(ShardedState, CheckpointsAreComplete) { run_processes("ShardedStateRank.DISABLED_Checkpoints", 2); }
TEST(ShardedState, MoreProcessesThanParameters) { run_processes("ShardedStateRank.DISABLED_Checkpoints", 4); }

TEST(ShardedStateRank, DISABLED_Memory) {
  const auto group = join();
  nn::Sequential net;
  for (int i = 0; i < 8; ++i) {
    net->push_back(nn::Linear(nn::LinearOptions(32, 32).bias(false)));
    net->push_back(nn::LayerNorm(nn::LayerNormOptions({32})));
  }
  to::AdamW optimizer(net->parameters());
  const auto step = training_step(loss_of(net), optimizer, sharded(group));
  int64_t all = 0, own = 0;
  for (const auto& parameter : net->parameters()) all += parameter.numel();
  for (int i = 0; i < 2; ++i) {
    step(torch::randn({4, 32}));
    own = 0;
    for (const auto& [key, state] : optimizer.state())
      own += static_cast<const to::AdamWParamState&>(*state).exp_avg().numel();
    EXPECT_LE(own, all / group.size() + 64);
    EXPECT_GE(own, all / group.size() - 64);
    step.gather_state();
    EXPECT_EQ(optimizer.state().size(), net->parameters().size());
  }
}
TEST(ShardedState, EachProcessHasItsShare) { run_processes("ShardedStateRank.DISABLED_Memory", 4); }

/// The state of parameters that have no gradients any more stays where it was.
TEST(ShardedStateRank, DISABLED_Frozen) {
  const auto group = join();
  auto net = net_of(1, at::kDouble);
  to::AdamW optimizer(net->parameters());
  const auto step = training_step(loss_of(net), optimizer, sharded(group));
  const auto x = part(batch(1, {8, 5}, at::kDouble), group);
  step(x);
  for (const size_t i : {0, 1, 2}) net->parameters()[i].set_requires_grad(false);
  step(x);
  EXPECT_LT(optimizer.state().size(), net->parameters().size());
  step.gather_state();
  EXPECT_EQ(optimizer.state().size(), net->parameters().size());
  for (const size_t i : {0, 1, 2}) net->parameters()[i].set_requires_grad(true);
  step(x);
  step.gather_state();
  for (const auto& [key, state] : optimizer.state())
    EXPECT_GE(static_cast<const to::AdamWParamState&>(*state).step(), 2);
}
TEST(ShardedState, FrozenParametersKeepTheirState) { run_processes("ShardedStateRank.DISABLED_Frozen", 2); }

/// What only one process sees, or has the gradient of, decides in all of them.
TEST(ShardedStateRank, DISABLED_Skip) {
  const auto group = join();
  for (const auto backend : {Backend::Default, Backend::Eager}) {
    const auto big = torch::ones({4}).requires_grad_(), small = torch::ones({3}).requires_grad_();
    to::SGD optimizer({big, small}, to::SGDOptions(0.5));
    auto options = sharded(group);
    options.options.backend = backend;
    options.scaler = std::make_shared<GradScaler>(1024);
    const auto step =
        training_step([&](const Tensor& x, const Tensor& y) { return (big * x).sum() + (small * y).sum(); },
                      optimizer, options);
    step(torch::ones({4}), torch::full({3}, group.rank() == 0 ? 1e37 : 1.0));  // overflows when it is scaled
    EXPECT_TRUE(step.last().skipped);
    EXPECT_TRUE(at::equal(big, torch::ones({4})));
    EXPECT_TRUE(at::equal(small, torch::ones({3})));
    EXPECT_EQ(options.scaler->scale.item<double>(), 512);
    step(torch::ones({4}), torch::ones({3}));
    EXPECT_TRUE(step.last().updated);
    EXPECT_TRUE(at::allclose(big, torch::full({4}, 0.5)));
    EXPECT_TRUE(at::allclose(small, torch::full({3}, 0.5)));
  }
}
TEST(ShardedState, ProcessesSkipTogether) { run_processes("ShardedStateRank.DISABLED_Skip", 2); }

/// Parameters on the same memory are updated one after the other by the same process.
TEST(ShardedStateRank, DISABLED_SharedMemory) {
  const auto group = join();
  struct Weights {
    Tensor whole = batch(1, {12, 5}, at::kDouble), first = piece(0), second = piece(4), third = piece(6);
    Tensor piece(int64_t row) const { return whole.narrow(0, row, 6).detach().requires_grad_(); }
    Tensor loss(const Tensor& x) const {
      return at::tanh(at::matmul(first, x) + at::matmul(second, x) * at::matmul(third, x)).sum();
    }
  } weights, expected;
  to::AdamW optimizer({weights.first, weights.second, weights.third}, to::AdamWOptions(0.1)),
      reference({expected.first, expected.second, expected.third}, to::AdamWOptions(0.1));
  const auto step =
      training_step([&](const Tensor& x) { return weights.loss(x); }, optimizer, sharded(group));
  const auto alone = training_step([&](const Tensor& x) { return expected.loss(x); }, reference);
  for (int64_t i = 0; i < 4; ++i) {
    const auto x = batch(i, {5}, at::kDouble);
    step(x);
    alone(x);
  }
  expect_close({weights.whole}, {expected.whole});
}
TEST(ShardedState, ParametersMayShareMemory) { run_processes("ShardedStateRank.DISABLED_SharedMemory", 2); }

TEST(ShardedState, WhatNeedsEverythingIsRefused) {
  if (!distributed::available()) GTEST_SKIP() << "missing: c10d with Gloo";
  const auto meeting = temporary_path("sharded_alone");
  const auto group = distributed::gloo(meeting, 0, 1, {.name = "alone", .host = "127.0.0.1"});
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  const auto text_of = [&](const StepOptions& options) -> std::string {
    try {
      training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "no error";
  };
  auto keep = sharded(group), average = sharded(group);
  keep.gradients = Gradients::Keep;
  average.average = std::make_shared<WeightAverage>();
  EXPECT_NE(text_of(keep).find("shard_state is set together with Gradients::Keep"), std::string::npos);
  EXPECT_NE(text_of(average).find("shard_state is set together with StepOptions::average"),
            std::string::npos);
  distributed::leave(group);
  std::filesystem::remove(meeting);
}

}  // namespace
}  // namespace antegrad::test
