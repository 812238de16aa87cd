// training_step() updates parameters while the graph still runs, where nothing that runs later reads them.
#include <antegrad/antegrad.h>
#include <antegrad/optimizers.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/memory_pool.h"
#include "support/closeness.h"
#include "support/counting_allocator.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace to = torch::optim;
using Tensors = std::vector<Tensor>;

Tensor leaf(at::IntArrayRef sizes) { return (torch::randn(sizes, at::kDouble) / 4).requires_grad_(); }

/// A loss of parameters and what it uses besides.
struct Net {
  Tensors parameters;
  std::function<Tensor(const Tensor&)> loss;
  std::shared_ptr<WeightAverage> average = nullptr;
};

/// Trains two nets that begin alike: one keeps gradients, so that all are computed before the first update.
template <class Optimizer, class Options>
void expect_same_training(const std::function<Net()>& make, const Options& settings, int steps = 4) {
  std::vector<Net> nets;
  for (const auto kind : {Gradients::Keep, Gradients::Drop}) {
    test::manual_seed(3);
    nets.push_back(make());
    auto& net = nets.back();
    Optimizer optimizer(net.parameters, settings);
    StepOptions options;
    options.gradients = kind;
    options.average = net.average;
    const auto step = training_step([&](const Tensor& x) { return net.loss(x); }, optimizer, options);
    for (int i = 0; i < steps; ++i) {
      step(torch::randn({4, 6}, at::kDouble));
      EXPECT_TRUE(step.last().updated);
    }
    EXPECT_EQ(step.report().eager_calls + step.step_report().eager_calls, 0u);
  }
  for (size_t i = 0; i < nets[0].parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(nets[0].parameters[i], nets[1].parameters[i])) << i;
    EXPECT_EQ(nets[0].parameters[i]._version(), nets[1].parameters[i]._version()) << i;
    EXPECT_FALSE(nets[1].parameters[i].grad().defined());
  }
  if (!nets[0].average) return;
  for (size_t i = 0; i < nets[0].average->averages.size(); ++i)
    EXPECT_TRUE(at::equal(nets[0].average->averages[i], nets[1].average->averages[i])) << i;
}

Net layers() {
  Net net;
  for (int i = 0; i < 4; ++i) {
    net.parameters.push_back(leaf({6, 6}));
    net.parameters.push_back(leaf({6}));
  }
  net.loss = [p = net.parameters](const Tensor& x) {
    auto y = x;
    for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(y, p[i]) + p[i + 1]);
    return y.pow(2).mean();
  };
  return net;
}

TEST(EarlyUpdates, EqualUpdatesAtTheEnd) {
  expect_same_training<to::SGD>(layers, to::SGDOptions(0.1));
  expect_same_training<to::SGD>(layers, to::SGDOptions(0.1).momentum(0.9).nesterov(true));
  expect_same_training<to::AdamW>(layers, to::AdamWOptions(0.1).amsgrad(true));
  expect_same_training<to::RMSprop>(layers, to::RMSpropOptions(0.1).centered(true).momentum(0.5));
  expect_same_training<to::Adagrad>(layers, to::AdagradOptions(0.1));
  expect_same_training<Lion>(layers, LionOptions(0.1));
}

Net modules() {
  torch::nn::Sequential net(torch::nn::Linear(6, 6), torch::nn::Tanh(),
                            torch::nn::LayerNorm(torch::nn::LayerNormOptions({6})), torch::nn::Linear(6, 6),
                            torch::nn::GELU(), torch::nn::Linear(6, 6));
  net->to(at::kDouble);
  return {net->parameters(), [net](const Tensor& x) mutable { return net->forward(x).pow(2).mean(); }};
}

/// The gradients of such layers are views, also transposed ones, of what the graph computes.
TEST(EarlyUpdates, LinearLayers) {
  expect_same_training<to::SGD>(modules, to::SGDOptions(0.1).momentum(0.9));
  expect_same_training<to::AdamW>(modules, to::AdamWOptions(0.1));
  const auto transposed = [] {
    auto net = layers();
    for (const size_t i : {0, 2, 4}) net.parameters[i] = net.parameters[i].detach().t().requires_grad_();
    net.loss = [p = net.parameters](const Tensor& x) {
      auto y = x;
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::linear(y, p[i]) + p[i + 1].view({1, 6}));
      return y.pow(2).mean();
    };
    return net;
  };
  expect_same_training<to::AdamW>(transposed, to::AdamWOptions(0.1));
}

Net pictures() {
  torch::nn::Sequential net(
      torch::nn::Linear(6, 75), torch::nn::Unflatten(torch::nn::UnflattenOptions(1, {3, 5, 5})),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)), torch::nn::BatchNorm2d(4), torch::nn::PReLU(),
      torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(4, 2, 2).groups(2)));
  net->to(at::kDouble);
  auto& filter = net->parameters()[2];
  filter.set_data(filter.data().contiguous(at::MemoryFormat::ChannelsLast));
  return {net->parameters(), [net](const Tensor& x) mutable { return net->forward(x).pow(2).mean(); }};
}

Net sequences() {
  torch::nn::LSTM net(torch::nn::LSTMOptions(3, 4).num_layers(2));
  net->to(at::kDouble);
  return {net->parameters(), [net](const Tensor& x) mutable {
            return std::get<0>(net->forward(x.view({4, 2, 3}))).pow(2).mean();
          }};
}

/// Square weights, for which nothing but strides tells a gradient from its transpose.
Net transposes() {
  Net net;
  for (int i = 0; i < 6; ++i) net.parameters.push_back(leaf({6, 6}));
  net.loss = [p = net.parameters](const Tensor& x) {
    auto y = at::linear(at::linear(x, p[0]).sin(), p[1].t()).sin();
    y = at::mm(at::mm(y, p[2]).sin(), p[3].t()).sin();
    return at::mm(p[4].t(), at::mm(p[5], y.t()).sin()).pow(2).mean();
  };
  return net;
}

/// The graph computes the transpose of a gradient.
Net transposed_gradient() {
  auto net = transposes();
  net.parameters.push_back(leaf({6, 6}));
  net.loss = [loss = net.loss, p = net.parameters[6]](const Tensor& x) {
    return loss(x) + (p.t() * at::mm(x.t(), x.sin())).sum();
  };
  return net;
}

TEST(EarlyUpdates, GradientsThatAreViews) {
  for (const auto& net : {pictures, sequences, transposes, transposed_gradient})
    expect_same_training<to::AdamW>(net, to::AdamWOptions(0.1));
}

TEST(EarlyUpdates, WeightsThatAreUsedTwiceWaitForTheLastUse) {
  const auto tied = [] {
    auto net = layers();
    net.loss = [p = net.parameters](const Tensor& x) {
      auto y = x;
      for (const size_t i : {0, 2, 0, 4, 2, 6}) y = at::tanh(at::mm(y, p[i]) + p[i + 1]);
      return y.pow(2).mean() + p[2].pow(2).sum();
    };
    return net;
  };
  expect_same_training<to::AdamW>(tied, to::AdamWOptions(0.1));
}

TEST(EarlyUpdates, WeightsThatShareMemoryAreUpdatedAtTheEnd) {
  const auto sharing = [] {
    auto net = layers();
    const auto whole = torch::randn({12, 6}, at::kDouble) / 4;
    net.parameters[0] = whole.narrow(0, 0, 6).detach().requires_grad_();
    net.parameters[2] = whole.narrow(0, 3, 6).detach().requires_grad_();
    const auto other = whole.narrow(0, 6, 6).detach();  // is written with the second one
    net.loss = [p = net.parameters, other](const Tensor& x) {
      auto y = at::mm(x, other);
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(y, p[i]) + p[i + 1]);
      return (y * at::mm(x, other)).mean();
    };
    return net;
  };
  expect_same_training<to::SGD>(sharing, to::SGDOptions(0.1).momentum(0.9));
}

TEST(EarlyUpdates, OtherViewsOfWeightsAreReadBefore) {
  const auto views = [] {
    auto net = layers();
    const auto same = net.parameters[6].detach();  // a constant of the loss, on the memory of the weight
    net.loss = [p = net.parameters, same](const Tensor& x) {
      auto y = x;
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(at::mm(y, p[i]) + p[i + 1], same));
      return y.pow(2).mean();
    };
    return net;
  };
  expect_same_training<to::AdamW>(views, to::AdamWOptions(0.1));
}

TEST(EarlyUpdates, OtherStoragesOnTheMemoryOfWeightsAreReadBefore) {
  const auto blobs = [] {
    auto net = layers();
    const auto& last = net.parameters[6];  // the first one to be updated
    const auto all = at::from_blob(last.data_ptr(), {6, 6}, at::kDouble);
    const auto row = at::from_blob(last.mutable_data_ptr<double>() + 12, {6}, at::kDouble);
    net.loss = [p = net.parameters, all, row](const Tensor& x) {
      auto y = at::tanh(at::mm(x, all)) + row;
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(at::mm(y, p[i]) + p[i + 1] * row, all));
      return y.pow(2).mean();
    };
    return net;
  };
  expect_same_training<to::AdamW>(blobs, to::AdamWOptions(0.1));
}

TEST(EarlyUpdates, AveragesThatTheLossReadsAreReadBefore) {
  const auto teacher = [] {
    auto net = layers();
    net.average = std::make_shared<WeightAverage>(0.5);
    for (const auto& p : net.parameters) net.average->averages.push_back(p.detach().clone());
    net.loss = [p = net.parameters, means = net.average->averages](const Tensor& x) {
      auto y = x, z = x;
      for (size_t i = 0; i < p.size(); i += 2) {
        z = at::tanh(at::mm(z, means[i]) + means[i + 1]);
        y = at::tanh(at::mm(y, p[i]) + p[i + 1] * z);
      }
      return (y - z).pow(2).mean();
    };
    return net;
  };
  expect_same_training<to::SGD>(teacher, to::SGDOptions(0.1));
}

TEST(EarlyUpdates, WeightsThatTheLossWritesAreUpdatedAfterwards) {
  const auto clamped = [] {
    auto net = layers();
    net.loss = [p = net.parameters](const Tensor& x) {
      auto y = x;
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(y, p[i]) + p[i + 1]);
      const auto loss = y.pow(2).mean();
      const at::NoGradGuard no_grad;
      p[2].data().clamp_(-0.2, 0.2);
      return loss;
    };
    return net;
  };
  const auto counted = [] {
    auto net = layers();
    net.loss = [p = net.parameters, calls = torch::zeros({6}, at::kDouble)](const Tensor& x) {
      auto y = x;
      for (size_t i = 0; i < p.size(); i += 2) y = at::tanh(at::mm(y, p[i]) + p[i + 1] + calls);
      calls.add_(1);
      return y.pow(2).mean();
    };
    return net;
  };
  expect_same_training<to::SGD>(counted, to::SGDOptions(0.1));
  expect_same_training<to::SGD>(clamped, to::SGDOptions(0.1));
}

TEST(EarlyUpdates, LookedUpRowsAndUnusedWeights) {
  const auto table = [] {
    auto net = layers();
    net.parameters.push_back(leaf({10, 6}));
    net.parameters.push_back(leaf({3}));
    net.loss = [p = net.parameters](const Tensor& x) {
      const auto rows = (x.select(1, 0).abs() * 5).to(at::kLong).clamp(0, 9);
      auto y = at::embedding(p[8], rows);
      for (size_t i = 0; i < 8; i += 2) y = at::tanh(at::mm(y, p[i]) + p[i + 1]);
      return y.pow(2).mean() + at::embedding(p[8], rows).sum();
    };
    return net;
  };
  expect_same_training<to::AdamW>(table, to::AdamWOptions(0.1));
}

// --- memory

constexpr int64_t kWidth = 256, kLayers = 8;

struct Deep {
  Tensors weights;
  bool linear;
  explicit Deep(bool linear) : linear(linear) {
    test::manual_seed(1);
    for (int64_t i = 0; i < kLayers; ++i)
      weights.push_back((torch::randn({kWidth, kWidth}) / 16).requires_grad_());
  }
  Tensor loss(const Tensor& x) const {
    auto y = x;
    for (const auto& weight : weights) y = at::tanh(linear ? at::linear(y, weight) : at::mm(y, weight));
    return y.pow(2).mean();
  }
};

int64_t peak_of_step(Gradients gradients, bool linear) {
  auto& memory = CountingAllocator::installed();
  const Deep net(linear);
  to::SGD optimizer(net.weights, to::SGDOptions(0.1));
  StepOptions options;
  options.gradients = gradients;
  const auto step = training_step([&](const Tensor& x) { return net.loss(x); }, optimizer, options);
  const auto x = torch::randn({8, kWidth});
  runtime::memory_pool::clear();
  const auto before = memory.live_bytes();
  for (int i = 0; i < 3; ++i) {
    step(x);
    for (const auto& weight : net.weights) weight.mutable_grad().reset();
  }
  memory.restart_peak();
  step(x);
  const auto peak = memory.peak_bytes() - before;
  for (const auto& weight : net.weights) weight.mutable_grad().reset();
  runtime::memory_pool::clear();
  return peak;
}

TEST(EarlyUpdates, GradientsTakeNoMoreMemoryThanTheLargest) {
  at::set_num_threads(1);
  constexpr int64_t kGradient = kWidth * kWidth * 4;
  for (const bool linear : {false, true}) {
    const auto all = peak_of_step(Gradients::Keep, linear), dropped = peak_of_step(Gradients::Drop, linear);
    EXPECT_GE(all, kLayers * kGradient);
    if (runs_libtorch_kernels()) {  // the optimizer's own step, after all gradients
      EXPECT_GE(dropped, kLayers * kGradient);
    } else {
      EXPECT_LE(dropped, all - (kLayers - 1) * kGradient + kGradient / 8) << linear;
    }
  }
}

// --- failures

Tensors copies_of(const Tensors& tensors) {
  Tensors copies;
  for (const auto& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

size_t changed(const Tensors& before, const Tensors& now) {
  size_t count = 0;
  for (size_t i = 0; i < now.size(); ++i) count += at::equal(before[i], now[i]) ? 0 : 1;
  return count;
}

TEST(EarlyUpdates, AFailureSaysWhetherWeightsWereUpdated) {
  at::set_num_threads(1);
  auto& memory = CountingAllocator::installed();
  // The first gradient, of the last weight, is used before memory for the second one is allocated.
  const Tensors weights{torch::randn({4 * kWidth, kWidth}).requires_grad_(),
                        torch::randn({kWidth, kWidth}).requires_grad_()};
  to::AdamW optimizer(weights, to::AdamWOptions(0.1));
  const auto step = training_step(
      [&](const Tensor& x) { return at::tanh(at::mm(at::tanh(at::mm(x, weights[0])), weights[1])).mean(); },
      optimizer);
  const auto x = torch::randn({8, 4 * kWidth});
  step(x);
  int before_updates = 0, after_updates = 0;
  for (int n = 0;; ++n) {
    ASSERT_LT(n, 500);
    runtime::memory_pool::clear();
    const auto before = copies_of(weights);
    std::string text;
    memory.fail_after(n);
    try {
      step(x);
    } catch (const std::exception& error) {
      text = error.what();
    }
    const bool failed = memory.failed();
    memory.fail_after(-1);
    if (!failed) break;
    if (text.find("[training_step] the step failed after ") == std::string::npos) {
      ++before_updates;
      if (!runs_libtorch_kernels()) EXPECT_EQ(changed(before, weights), 0u) << n << ": " << text;
    } else {
      ++after_updates;
      const auto count = changed(before, weights);
      EXPECT_NE(text.find(c10::str("after ", count, " of 2 parameters")), std::string::npos)
          << count << ": " << text;
      EXPECT_NE(text.find("can't allocate memory: a test"), std::string::npos) << text;
    }
  }
  EXPECT_GT(before_updates, 0);
  EXPECT_EQ(after_updates > 0, !runs_libtorch_kernels());  // whose step() may fail between two weights
  step(x);                                                 // works as before
}

TEST(EarlyUpdates, IndicesOutOfRangeAreFoundBeforeTheFirstUpdate) {
  const auto weight = leaf({6, 6}), table = leaf({10, 6});
  to::AdamW optimizer({weight, table}, to::AdamWOptions(0.1));
  const auto step = training_step(
      [&](const Tensor& rows) { return at::tanh(at::mm(at::embedding(table, rows), weight)).sum(); },
      optimizer);
  const auto before = copies_of({weight, table});
  EXPECT_THROW(step(torch::tensor({int64_t{1}, int64_t{10}})), std::exception);
  EXPECT_EQ(changed(before, {weight, table}), 0u);
  EXPECT_TRUE(optimizer.state().empty());
  step(torch::tensor({int64_t{1}, int64_t{9}}));
  EXPECT_EQ(changed(before, {weight, table}), 2u);
}

}  // namespace
}  // namespace antegrad::test
