// Options::freeze: captured tensors are constants.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <string_view>

#include "runtime/onednn.h"
#include "support/frozen.h"
#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

bool generates_kernels() {
  const char* backend = std::getenv("ANTEGRAD_BACKEND");
  return backend == nullptr || std::string_view(backend) != "eager";
}

/// Gives running statistics other values than those of a new module.
void unsettle(torch::nn::Module& net) {
  const torch::NoGradGuard no_grad;
  for (auto& buffer : net.named_buffers())
    if (buffer.value().is_floating_point()) buffer.value().uniform_(0.5, 2);
  for (auto& parameter : net.named_parameters()) parameter.value().uniform_(-1, 1);
}

torch::nn::Sequential image_net() {
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).bias(false)),
                            torch::nn::BatchNorm2d(8), torch::nn::ReLU(),
                            torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 8, 3).groups(2).padding(1)),
                            torch::nn::BatchNorm2d(8), torch::nn::ReLU(), torch::nn::Flatten(),
                            torch::nn::Linear(288, 7), torch::nn::BatchNorm1d(7));
  unsettle(*net);
  net->eval();
  return net;
}

class Freeze : public ::testing::Test {
 protected:
  void SetUp() override { test::manual_seed(11); }
  torch::NoGradGuard no_grad_;
};

TEST_F(Freeze, BatchNormsBecomePartOfWeights) {
  auto net = image_net();
  const auto compiled = compile(net, frozen());
  for (int call = 0; call < 3; ++call) {
    const auto x = torch::randn({2, 3, 8, 8});
    EXPECT_TRUE(same(net->forward(x), compiled(x)));
  }
  const auto report = compiled.report();
  EXPECT_EQ(report.captures, 1u);
  if (!generates_kernels()) return;
  EXPECT_EQ(report.frozen, 17u) << "3 weights, 2 biases, 4 tensors of each of 3 norms";
  EXPECT_GT(report.frozen_bytes, 288u * 7 * sizeof(float));
  const auto explanation = compiled.explain(torch::randn({2, 3, 8, 8}));
  EXPECT_NE(explanation.frozen.find("rsqrt"), std::string::npos) << explanation.frozen;
  EXPECT_EQ(explanation.forward.find("rsqrt"), std::string::npos) << explanation.forward;
}

TEST_F(Freeze, NormsThatCannotBeFoldedGiveTheSame) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 4, 3));
  torch::nn::BatchNorm2d norm(4);
  unsettle(*norm);
  norm->eval();
  Options options = frozen();
  options.watch = {conv, norm};
  const auto both = [&](const Tensor& x) {  // the layer's result has two readers
    const auto y = conv->forward(x);
    return norm->forward(y) + y;
  };
  const auto compiled = compile(both, options);
  const auto x = torch::randn({2, 3, 5, 5});
  EXPECT_TRUE(same(both(x), compiled(x)));
  torch::nn::Sequential transposed(
      torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(3, 4, 3).stride(2)), norm);
  const auto frozen_transposed = compile(transposed, frozen());
  EXPECT_TRUE(same(transposed->forward(x), frozen_transposed(x)));
  torch::nn::Sequential narrow(conv, norm);
  narrow->to(at::kBFloat16);
  const auto compiled_narrow = compile(narrow, frozen());
  const auto narrow_x = x.to(at::kBFloat16);
  EXPECT_TRUE(same(narrow->forward(narrow_x), compiled_narrow(narrow_x)));
}

TEST_F(Freeze, CastsOfWeightsAreComputedOnce) {
  torch::nn::Linear linear(16, 8);
  const auto function = [&](const Tensor& x) {
    return at::linear(x.to(at::kBFloat16), linear->weight.to(at::kBFloat16), linear->bias.to(at::kBFloat16));
  };
  const auto compiled = compile(function, frozen());
  const auto x = torch::randn({4, 16});
  EXPECT_TRUE(same(function(x), compiled(x)));
  EXPECT_EQ(compiled.report().frozen, 2u);
  EXPECT_EQ(compiled.report().frozen_bytes, (16u * 8 + 8) * 2);
}

TEST_F(Freeze, WeightsOfProductsArePacked) {
  torch::nn::Sequential net(torch::nn::Linear(160, 256), torch::nn::ReLU(),
                            torch::nn::Linear(torch::nn::LinearOptions(256, 160).bias(false)));
  runtime::onednn::set_use(runtime::onednn::Use::Always);
  auto options = frozen();
  options.dynamic = Dynamic::None;
  setenv("ANTEGRAD_MATMUL", "onednn", 1);
  const auto compiled = compile(net, options);
  unsetenv("ANTEGRAD_MATMUL");
  for (int64_t rows : {1, 5, 40}) {
    const auto x = torch::randn({rows, 160});
    EXPECT_TRUE(same(net->forward(x), compiled(x))) << rows;
    at::globalContext().setUserEnabledMkldnn(false);
    EXPECT_TRUE(same(net->forward(x), compiled(x))) << rows << " without oneDNN";
    at::globalContext().setUserEnabledMkldnn(true);
  }
  const bool packs = runtime::onednn::packs() && generates_kernels();
  runtime::onednn::set_use(runtime::onednn::Use::Auto);
  const auto text = compiled.explain(torch::randn({1, 160})).forward;
  EXPECT_EQ(text.find("antegrad.packed_mm") != std::string::npos, packs) << text;
}

TEST_F(Freeze, TiedWeightsAndDynamicSizes) {
  const auto table = torch::randn({50, 8});
  const auto function = [&](const Tensor& tokens) {
    const auto scaled = table * 2;
    return at::embedding(scaled, tokens).tanh().matmul(scaled.t());
  };
  const auto compiled = compile(function, frozen());
  for (int64_t n : {5, 9, 12, 5}) {
    const auto tokens = torch::randint(50, {n});
    EXPECT_TRUE(same(function(tokens), compiled(tokens))) << n;
  }
  EXPECT_EQ(compiled.report().frozen, 2u) << "one tensor, in a version of fixed sizes and one over a symbol";
}

TEST_F(Freeze, AWriteMakesItCapturedAgain) {
  torch::nn::Linear linear(6, 3);
  const auto function = [&](const Tensor& x) { return at::linear(x, linear->weight.exp(), linear->bias); };
  const auto compiled = compile(function, frozen());
  const auto check = [&](uint64_t captures) {
    for (int call = 0; call < 2; ++call) {
      const auto x = torch::randn({4, 6});
      EXPECT_TRUE(same(function(x), compiled(x)));
    }
    EXPECT_EQ(compiled.report().captures, captures);
  };
  check(1);
  linear->weight.mul_(2);  // counted
  check(2);
  linear->weight.data().add_(1);  // not counted, as in LibTorch's optimizers
  check(3);
  linear->bias.mul_(3);  // not a constant: nothing is computed from it alone
  check(3);
  linear->weight.set_data(torch::randn({3, 6}));
  check(4);
  EXPECT_NE(compiled.report().recapture_reasons.at(0).find("was written to"), std::string::npos);
}

TEST_F(Freeze, AWriteToAFunctionOfAnySizeIsNoticed) {
  const auto weight = torch::randn({6, 3});
  const auto function = [&](const Tensor& x) { return x.matmul(weight.sin()); };
  auto options = frozen();
  options.dynamic = Dynamic::All;
  const auto compiled = compile(function, options);
  for (int64_t n : {4, 7}) EXPECT_TRUE(same(function(torch::ones({n, 6})), compiled(torch::ones({n, 6}))));
  weight.fill_(0.5);
  for (int64_t n : {7, 4, 9}) EXPECT_TRUE(same(function(torch::ones({n, 6})), compiled(torch::ones({n, 6}))));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST_F(Freeze, WhatTheFunctionWritesOrReturnsIsNoConstant) {
  const auto state = torch::zeros({3}), scale = torch::randn({3});
  const auto step = [&](const Tensor& x) {
    state.add_(scale.exp());
    return std::make_pair(x * state.exp(), scale.exp());
  };
  const auto compiled = compile(step, frozen());
  const auto x = torch::randn({3});
  for (int call = 1; call < 4; ++call) {
    const auto [product, returned] = compiled(x);
    EXPECT_TRUE(same_values(scale.exp() * call, state));
    EXPECT_TRUE(same_values(x * state.exp(), product));
    EXPECT_TRUE(same_values(scale.exp(), returned));
    returned.fill_(7);  // the caller's own
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST_F(Freeze, GradientsOfArguments) {
  const torch::AutoGradMode grad_mode(true);
  const auto weight = torch::randn({6, 3});
  const auto function = [&](const Tensor& x) { return x.matmul(weight.sin()).tanh(); };
  const auto compiled = compile(function, frozen());
  const auto x = torch::randn({4, 6}).requires_grad_();
  const auto gradient = [&](const auto& f) { return torch::autograd::grad({f(x).square().sum()}, {x})[0]; };
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_values(gradient(function), gradient(compiled)));
  const auto y = compiled(x);
  const auto first = torch::autograd::grad({y.sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  const auto eager_first = torch::autograd::grad({function(x).sum()}, {x}, {}, true, true)[0];
  EXPECT_TRUE(same_values(torch::autograd::grad({eager_first.square().sum()}, {x})[0],
                          torch::autograd::grad({first.square().sum()}, {x})[0]));
}

}  // namespace
}  // namespace antegrad::test
