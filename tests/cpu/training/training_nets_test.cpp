// Networks for classification and sequences, trained 20 steps compiled and eagerly side by side.
#include "cpu/training/training_nets.h"

namespace antegrad::test {
namespace {

// --- fully connected

TEST(TrainingNets, Mlp) { expect_equal_training<Mlp>(); }

/// Only the module is compiled; the loss is computed eagerly.
class MlpWithEagerLoss : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto x = torch::randn({16, 8});
    return minimise(optimizer_, F::cross_entropy(forward_(x), x.slice(1, 0, 3).argmax(1)));
  }

 private:
  nn::Sequential net_ = net(make_mlp());
  std::function<Tensor(Tensor)> forward_ = forward<Tensor>(net_);
  torch::optim::AdamW optimizer_{net_->parameters(), torch::optim::AdamWOptions(1e-2)};
};
TEST(TrainingNets, MlpWithEagerLoss) { expect_equal_training<MlpWithEagerLoss>(); }

// --- convolutions

TEST(TrainingNets, ConvolutionsWithBatchNormAndDropout) {  // RNG-01
  expect_equal_training<ConvolutionsWithDropout>(eager_random_numbers());
}

nn::Conv2d convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : main(convolution(in, out, 3, stride), nn::BatchNorm2d(out), nn::ReLU(nn::ReLUOptions().inplace(true)),
             convolution(out, out, 3, 1), nn::BatchNorm2d(out)) {
    register_module("main", main);
    if (stride == 1 && in == out) return;
    shortcut = nn::Sequential(convolution(in, out, 1, stride), nn::BatchNorm2d(out));
    register_module("shortcut", shortcut);
  }
  Tensor forward(const Tensor& x) {
    auto sum = main->forward(x);
    sum += shortcut ? shortcut->forward(x) : x;
    return sum.relu_();
  }
  nn::Sequential main;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(BasicBlock);

/// Eighteen layers with weights, as in ResNet-18, an eighth as wide.
nn::Sequential make_resnet(int64_t width) {
  nn::Sequential net(convolution(3, width, 7, 2), nn::BatchNorm2d(width),
                     nn::ReLU(nn::ReLUOptions().inplace(true)),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t in = width;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t out = width << stage;
    net->push_back(BasicBlock(in, out, stage == 0 ? 1 : 2));
    net->push_back(BasicBlock(out, out, 1));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(in, 10));
  return net;
}

class ResNet : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto images = torch::randn({2, 3, 64, 64});
    return minimise(optimizer_, F::cross_entropy(forward_(images), torch::randint(0, 10, {2})));
  }

 private:
  nn::Sequential net_ = net(make_resnet(8));
  std::function<Tensor(Tensor)> forward_ = forward<Tensor>(net_);
  torch::optim::SGD optimizer_{net_->parameters(),
                               torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(1e-4)};
};
TEST(TrainingNets, ResNet18) { expect_equal_training<ResNet>(); }

// --- sequences

struct TaggerImpl : nn::Module {
  TaggerImpl() {
    register_module("embedding", embedding);
    register_module("lstm", lstm);
    register_module("head", head);
  }
  Tensor forward(const Tensor& tokens) {
    auto hidden = std::get<0>(lstm->forward(embedding->forward(tokens)));
    return head->forward(hidden).flatten(0, 1);
  }
  nn::Embedding embedding{11, 8};
  nn::LSTM lstm{nn::LSTMOptions(8, 12).num_layers(2).batch_first(true).dropout(0.2)};
  nn::Linear head{12, 11};
};
TORCH_MODULE(Tagger);

/// A recurrent net whose gradients are clipped: eager code between backward and optimizer step.
class Lstm : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto tokens = torch::randint(0, 11, {4, 9});
    auto loss = loss_(tokens, tokens.roll(1, 1).flatten());
    optimizer_.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(net_->parameters(), 0.5);
    optimizer_.step();
    return {loss.detach()};
  }

 private:
  Tagger net_ = net(Tagger());
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::cross_entropy(net_->forward(x), y); });
  torch::optim::RMSprop optimizer_{net_->parameters(), torch::optim::RMSpropOptions(1e-2)};
};
TEST(TrainingNets, Lstm) { expect_equal_training<Lstm>(eager_random_numbers()); }

TEST(TrainingNets, Transformer) { expect_equal_training<GptTraining>(); }

class GptUnderAutocast : public GptTraining {
 public:
  using GptTraining::GptTraining;
  Losses step() {
    auto tokens = torch::randint(0, 13, {3, 10});
    Tensor loss;
    {
      Bfloat16 autocast;
      loss = loss_(tokens, tokens.roll(1, 1).flatten());
    }
    return minimise(optimizer_, loss);
  }
};
TEST(TrainingNets, TransformerUnderAutocast) { expect_equal_training<GptUnderAutocast>(); }

/// Autocast begins and ends within the compiled function.
class AutocastInside : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto x = torch::randn({16, 8});
    return minimise(optimizer_, loss_(x, x.slice(1, 0, 3).sin()));
  }

 private:
  Tensor loss(const Tensor& x, const Tensor& y) {
    Tensor out;
    {
      Bfloat16 autocast;
      out = net_->forward(x);
    }
    return F::mse_loss(out.to(at::kFloat), y);
  }
  nn::Sequential net_ = net(make_mlp());
  std::function<Tensor(Tensor, Tensor)> loss_ =
      function<Tensor, Tensor>([this](const Tensor& x, const Tensor& y) { return loss(x, y); });
  torch::optim::SGD optimizer_{net_->parameters(), 0.05};
};
TEST(TrainingNets, AutocastInside) { expect_equal_training<AutocastInside>(); }

}  // namespace
}  // namespace antegrad::test
