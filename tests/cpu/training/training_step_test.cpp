// training_step() against a loop of loss, backward(), clipping and step().
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;
namespace to = torch::optim;

nn::Sequential make_small_net() {
  test::manual_seed(1);
  nn::Sequential net(nn::Linear(6, 16), nn::BatchNorm1d(16), nn::Tanh(), nn::Linear(16, 1));
  net->to(at::kDouble);
  return net;
}

Tensor small_loss(nn::Sequential& net, const Tensor& x) {
  return (net->forward(x) - x.sum(1, true).sin()).pow(2).mean();
}

void expect_close(const nn::Sequential& eager, const nn::Sequential& compiled) {
  const auto compare = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(at::allclose(a[i].to(at::kDouble), b[i].to(at::kDouble), 1e-7, 1e-9)) << i;
  };
  compare(eager->parameters(), compiled->parameters());
  compare(eager->buffers(), compiled->buffers());
}

TEST(TrainingStep, EqualsTheLoop) {
  auto eager = make_small_net(), net = make_small_net();
  to::AdamW eager_optimizer(eager->parameters(), to::AdamWOptions(0.01));
  to::AdamW optimizer(net->parameters(), to::AdamWOptions(0.01));
  StepOptions options;
  options.clip_norm = 0.5;
  options.options.watch = {net.ptr()};
  const auto step = training_step([&](const Tensor& x) { return small_loss(net, x); }, optimizer, options);
  for (int i = 0; i < 20; ++i) {
    const auto x = torch::randn({8, 6}, at::kDouble);
    eager_optimizer.zero_grad();
    const auto expected = small_loss(eager, x);
    expected.backward();
    const auto norm = nn::utils::clip_grad_norm_(eager->parameters(), 0.5);
    eager_optimizer.step();
    const auto loss = step(x);
    EXPECT_FALSE(loss.requires_grad());
    EXPECT_TRUE(at::allclose(loss, expected.detach(), 1e-7, 1e-9));
    EXPECT_NEAR(step.last().gradient_norm, norm, 1e-6 * norm);
    EXPECT_TRUE(step.last().updated);
  }
  expect_close(eager, net);
  EXPECT_EQ(step.report().captures, 1u);
  for (const auto& parameter : net->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(TrainingStep, AccumulatesTheMeanOfSeveralCalls) {
  auto eager = make_small_net(), net = make_small_net();
  to::SGD eager_optimizer(eager->parameters(), to::SGDOptions(0.1).momentum(0.9));
  to::SGD optimizer(net->parameters(), to::SGDOptions(0.1).momentum(0.9));
  StepOptions options;
  options.accumulate = 3;
  options.gradients = Gradients::Keep;
  const auto step = training_step([&](const Tensor& x) { return small_loss(net, x); }, optimizer, options);
  for (int i = 0; i < 9; ++i) {
    const auto x = torch::randn({8, 6}, at::kDouble);
    if (i % 3 == 0) eager_optimizer.zero_grad();
    (small_loss(eager, x) / 3).backward();
    if (i % 3 == 2) eager_optimizer.step();
    step(x);
    EXPECT_EQ(step.last().updated, i % 3 == 2);
  }
  expect_close(eager, net);
  for (size_t i = 0; i < net->parameters().size(); ++i)
    EXPECT_TRUE(at::allclose(net->parameters()[i].grad(), eager->parameters()[i].grad(), 1e-7, 1e-9)) << i;
}

/// oneDNN's LSTM keeps what its backward pass reads only in grad mode.
TEST(TrainingStep, TrainsRecurrentLayersInFloat) {
  at::set_num_threads(1);
  const auto train = [](bool compiled) {
    test::manual_seed(1);
    nn::LSTM lstm(nn::LSTMOptions(3, 5).num_layers(2));
    to::SGD optimizer(lstm->parameters(), to::SGDOptions(0.5));
    const auto loss = [&](const Tensor& x) { return std::get<0>(lstm->forward(x)).pow(2).mean(); };
    const auto step = training_step(loss, optimizer);
    Tensor gradient;
    for (int i = 0; i < 3; ++i) {
      const auto x = torch::randn({4, 2, 3}).requires_grad_(!compiled);
      if (compiled) {
        gradient = grad(loss)(x)[0];
        step(x);
        continue;
      }
      optimizer.zero_grad();
      loss(x).backward();
      gradient = x.grad();
      optimizer.step();
    }
    auto all = lstm->parameters();
    all.push_back(gradient);
    return all;
  };
  const auto eager = train(false), compiled = train(true);
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(at::allclose(compiled[i], eager[i], 1e-4, 1e-6)) << i;
}

TEST(TrainingStep, ScalesTheLoss) {
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(0.5));
  StepOptions options;
  options.scaler = std::make_shared<GradScaler>(1024);
  options.scaler->growth_interval = 2;
  const auto step = training_step([&](const Tensor& x) { return (weight * x).sum(); }, optimizer, options);
  const auto scale = [&] { return options.scaler->scale.item<double>(); };
  step(torch::ones({3}));
  EXPECT_TRUE(at::allclose(weight, torch::full({3}, 0.5)));
  EXPECT_EQ(scale(), 1024);
  step(torch::full({3}, 1e37));  // overflows when it is scaled
  EXPECT_TRUE(step.last().skipped);
  EXPECT_TRUE(at::allclose(weight, torch::full({3}, 0.5)));
  EXPECT_EQ(scale(), 512);
  step(torch::ones({3}));
  step(torch::ones({3}));
  EXPECT_EQ(scale(), 1024);
  EXPECT_TRUE(at::allclose(weight, torch::full({3}, -0.5)));
  EXPECT_EQ(step.report().captures, 1u);
  options.scaler->scale = torch::full({}, 16.0f);  // from a checkpoint
  step(torch::ones({3}));
  EXPECT_TRUE(at::allclose(weight, torch::full({3}, -1.0)));
  for (const auto& scale : {Tensor(), torch::full({}, 16.0, at::kDouble), torch::ones({2})}) {
    options.scaler->scale = scale;
    EXPECT_THROW(step(torch::ones({3})), Error);
    EXPECT_TRUE(at::allclose(weight, torch::full({3}, -1.0)));
  }
}

TEST(TrainingStep, ReturnsWhatTheFunctionReturns) {
  const auto weight = torch::ones({3}).requires_grad_(), unused = torch::ones({2}).requires_grad_();
  to::AdamW optimizer({weight, unused}, to::AdamWOptions(0.5));
  const auto step = training_step(
      [&](const Tensor& x) {
        const auto y = weight * x;
        return std::make_tuple(y.sum(), y, 7);
      },
      optimizer);
  const auto [loss, y, number] = step(torch::full({3}, 2.0));
  EXPECT_EQ(loss.item<double>(), 6);
  EXPECT_TRUE(at::equal(y, torch::full({3}, 2.0)));
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(number, 7);
  EXPECT_EQ(optimizer.state().size(), 1u);  // as in eager, a parameter without gradient has none
  EXPECT_TRUE(at::equal(unused, torch::ones({2})));
}

TEST(TrainingStep, FollowsNewParameterGroups) {
  const auto weight = torch::ones({3}).requires_grad_(), late = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(1.0));
  const auto step = training_step([&](const Tensor& x) { return (weight * x + late * x).sum(); }, optimizer);
  step(torch::ones({3}));
  EXPECT_TRUE(at::equal(late, torch::ones({3})));
  optimizer.add_param_group(to::OptimizerParamGroup({late}));
  step(torch::ones({3}));
  EXPECT_TRUE(at::equal(weight, torch::full({3}, -1.0)));
  EXPECT_TRUE(at::equal(late, torch::zeros({3})));
}

TEST(TrainingStep, KeepsCodeForListsOfParametersThatReturn) {
  auto weight = torch::zeros({1}).requires_grad_(), other = torch::zeros({1}).requires_grad_();
  to::SGD optimizer({weight, other}, to::SGDOptions(1.0));
  int runs = 0;
  const auto step = training_step(  // a function that cannot be copied
      [&, own = std::make_unique<Tensor>(torch::ones({1}))](const Tensor& x) {
        ++runs;
        return ((weight + other) * x * *own).sum();
      },
      optimizer);
  const auto train = [&](bool trains_weight, bool trains_other) {
    weight.set_requires_grad(trains_weight);
    other.set_requires_grad(trains_other);
    step(torch::ones({1}));
  };
  for (int i = 0; i < 3; ++i)
    for (const auto& [a, b] : {std::pair(true, true), std::pair(false, true), std::pair(true, false)})
      train(a, b);
  EXPECT_EQ(weight.item<float>(), -6);
  EXPECT_EQ(other.item<float>(), -6);
  EXPECT_EQ(step.report().captures, 1u);
  if (!runs_libtorch_kernels()) EXPECT_EQ(runs, 3);
  for (int i = 0; i < 12; ++i) {  // more lists than are kept
    optimizer.add_param_group(to::OptimizerParamGroup({torch::zeros({1}).requires_grad_()}));
    train(true, i % 2 == 0);
  }
  EXPECT_EQ(weight.item<float>(), -18);
  EXPECT_EQ(other.item<float>(), -12);
}

TEST(TrainingStep, RunsWithAutocast) {
  const auto weight = torch::randn({8, 8}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(0.0));
  StepOptions options;
  options.autocast = at::kBFloat16;
  const auto step = training_step(
      [&](const Tensor& x) {
        const auto y = at::mm(x, weight);
        return std::make_pair(y.to(at::kFloat).pow(2).mean(), y);
      },
      optimizer, options);
  EXPECT_EQ(step(torch::randn({4, 8})).second.scalar_type(), at::kBFloat16);
  EXPECT_EQ(weight.scalar_type(), at::kFloat);
}

template <class Run>
void expect_refused_step(ErrorCode code, const std::string& part, const Run& run) {
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(TrainingStep, RefusesWhatItWouldIgnore) {
  const auto weight = torch::ones({3}).requires_grad_();
  to::SGD optimizer({weight}, to::SGDOptions(0.5));
  const auto sum = [&](const Tensor& x) { return (weight * x).sum(); };
  const auto x = torch::ones({3});
  expect_refused_step(ErrorCode::InvalidArgument, "has sizes [3]",
                      [&] { training_step([&](const Tensor& y) { return weight * y; }, optimizer)(x); });
  expect_refused_step(ErrorCode::InvalidArgument, "depends on no parameter",
                      [&] { training_step([&](const Tensor& y) { return y.sum(); }, optimizer)(x); });
  const auto other = torch::ones({3}).requires_grad_();
  const auto of_other = [&](const Tensor& y) { return (other * y).sum(); };
  expect_refused_step(ErrorCode::InvalidArgument, "depends on no parameter",
                      [&] { training_step(of_other, optimizer)(x); });
  to::SGD frozen({torch::ones({3})}, to::SGDOptions(0.5));
  expect_refused_step(ErrorCode::InvalidArgument, "no parameter of the optimizer requires gradients",
                      [&] { training_step(of_other, frozen)(x); });
  StepOptions options;
  options.accumulate = 0;
  expect_refused_step(ErrorCode::InvalidArgument, "accumulate is 0",
                      [&] { training_step(sum, optimizer, options); });
  struct Group {
    std::string name() const { return "all"; }
    int64_t size() const { return 2; }
  };
  options = {};
  options.options.gradients = AllReduce(Group());
  expect_refused_step(ErrorCode::InvalidArgument, "Options::gradients is set",
                      [&] { training_step(sum, optimizer, options); });
  options = {};
  options.accumulate = 2;
  expect_refused_step(ErrorCode::InvalidArgument, "options of training_step",
                      [&] { compiled_step(optimizer, options); });
  const auto by_argument = [](const Tensor& w, const Tensor& y) { return (w * y).sum(); };
  expect_refused_step(ErrorCode::InvalidArgument, "is passed as an argument",
                      [&] { training_step(by_argument, optimizer)(weight, x); });
  using Pair = std::pair<Tensor, Tensor>;
  const auto of_pair = [](const Pair& pair) { return (pair.first * pair.second).sum(); };
  expect_refused_step(ErrorCode::InvalidArgument, "is passed as an argument",
                      [&] { training_step(of_pair, optimizer)(Pair(weight, x)); });
  expect_refused_step(ErrorCode::InvalidArgument, "was computed from the parameter of sizes [3]", [&] {
    training_step(by_argument, optimizer)(weight.view({1, 3}), x);
  });
  expect_refused_step(ErrorCode::InvalidArgument, "an argument of sizes [3] was computed from",
                      [&] { training_step(of_pair, optimizer)(Pair(x, (weight * 2).exp())); });
  const auto step = training_step(sum, optimizer);
  const auto before = weight.detach().clone();
  step(other * 2);  // leads to no parameter of the optimizer
  step(weight.detach());
  weight.data().copy_(before);
  expect_refused_step(ErrorCode::UnsupportedOp, "inside a compiled function",
                      [&] { compile([&](const Tensor& y) { return step(y); })(x); });
  const auto handle = weight.register_hook([](const Tensor& gradient) { return gradient * 2; });
  expect_refused_step(ErrorCode::NeedsGrad, "has a hook", [&] { step(x); });
  weight.remove_hook(handle);
  struct Hook : torch::autograd::FunctionPostHook {
    using List = torch::autograd::variable_list;
    List operator()(const List& outputs, const List&) override { return outputs; }
  };
  const auto node = torch::autograd::impl::grad_accumulator(other);
  node->add_post_hook(std::make_unique<Hook>());
  to::SGD hooked({other}, to::SGDOptions(0.5));
  expect_refused_step(ErrorCode::NeedsGrad, "has a hook", [&] { training_step(of_other, hooked)(x); });
  EXPECT_TRUE(at::equal(weight, torch::ones({3})));
  step(x);
  EXPECT_TRUE(at::equal(weight, torch::full({3}, 0.5)));
}

}  // namespace
}  // namespace antegrad::test
