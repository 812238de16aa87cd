// Layers of torch::nn in training and in evaluation: results, buffers and generator are eager's.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;

/// Runs `call` on the compiled module, and eagerly on a clone of it.
template <class Module, class Call>
void expect_network(Module module, const Call& call) {
  torch::NoGradGuard no_grad;
  at::set_num_threads(1);  // on a busy machine oneDNN's many small parallel regions are very slow
  for (bool training : {false, true}) {
    module->train(training);
    auto eager = std::dynamic_pointer_cast<typename Module::ContainedType>(module->clone());
    Options options;
    options.watch = {module.ptr()};
    options.rng = Rng::Eager;
    auto compiled = compile([&] { return call(*module); }, options);
    for (int round = 0; round < 3; ++round) {
      test::manual_seed(round);
      auto expected = call(*eager);
      auto state = at::detail::getDefaultCPUGenerator().get_state();
      test::manual_seed(round);
      EXPECT_TRUE(same(expected, compiled())) << "training: " << training << ", call " << round;
      EXPECT_TRUE(state.equal(at::detail::getDefaultCPUGenerator().get_state()));
      EXPECT_TRUE(same(eager->parameters(), module->parameters()));
      EXPECT_TRUE(same(eager->buffers(), module->buffers()));
    }
    EXPECT_EQ(compiled.report().captures, 1u);
  }
}

std::vector<Tensor> flat(const std::tuple<Tensor, std::tuple<Tensor, Tensor>>& lstm) {
  return {std::get<0>(lstm), std::get<0>(std::get<1>(lstm)), std::get<1>(std::get<1>(lstm))};
}
std::vector<Tensor> flat(const std::tuple<Tensor, Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}

TEST(Networks, Lstm) {
  auto x = torch::randn({5, 2, 3});
  auto h = torch::randn({4, 2, 4}), c = torch::randn({4, 2, 4});
  expect_network(nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).dropout(0.3)),
                 [=](nn::LSTMImpl& m) {
                   auto out = flat(m.forward(x));
                   for (auto& t : flat(m.forward(x, std::tuple(h, c)))) out.push_back(t);
                   return out;
                 });
}

TEST(Networks, Gru) {
  auto x = torch::randn({2, 5, 3});
  expect_network(nn::GRU(nn::GRUOptions(3, 4).num_layers(2).batch_first(true).dropout(0.3)),
                 [=](nn::GRUImpl& m) { return flat(m.forward(x)); });
}

TEST(Networks, PlainRnn) {
  auto x = torch::randn({5, 2, 3});
  expect_network(nn::RNN(nn::RNNOptions(3, 4).nonlinearity(torch::kReLU)),
                 [=](nn::RNNImpl& m) { return flat(m.forward(x)); });
}

TEST(Networks, SelfAttention) {
  auto x = torch::randn({4, 2, 8});
  expect_network(nn::MultiheadAttention(nn::MultiheadAttentionOptions(8, 2).dropout(0.2)),
                 [=](nn::MultiheadAttentionImpl& m) { return flat(m.forward(x, x, x)); });
}

TEST(Networks, CrossAttention) {
  // Lengths differ, so that the layer does not compare the data of query and key.
  auto x = torch::randn({4, 2, 8}), memory = torch::randn({6, 2, 8});
  auto mask = torch::zeros({2, 6}, at::kBool);
  expect_network(nn::MultiheadAttention(nn::MultiheadAttentionOptions(8, 2)),
                 [=](nn::MultiheadAttentionImpl& m) { return flat(m.forward(x, memory, memory, mask)); });
}

TEST(Networks, TransformerEncoderLayer) {
  auto x = torch::randn({4, 2, 8});
  expect_network(
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0.1)),
      [=](nn::TransformerEncoderLayerImpl& m) { return std::vector<Tensor>{m.forward(x)}; });
}

TEST(Networks, Embedding) {
  auto index = torch::tensor({{1, 2}, {4, 0}});
  expect_network(nn::Embedding(nn::EmbeddingOptions(5, 3).padding_idx(0)),
                 [=](nn::EmbeddingImpl& m) { return std::vector<Tensor>{m.forward(index)}; });
}

TEST(Networks, EmbeddingWithMaxNorm) {  // renormalises its weight in place
  auto index = torch::tensor({{1, 2}, {4, 0}});
  expect_network(nn::Embedding(nn::EmbeddingOptions(5, 3).max_norm(0.5)),
                 [=](nn::EmbeddingImpl& m) { return std::vector<Tensor>{m.forward(index)}; });
}

TEST(Networks, EmbeddingBag) {
  auto index = torch::tensor({1, 2, 4, 0});
  auto offsets = torch::tensor({0, 3});
  auto sum = [=](nn::EmbeddingBagImpl& m) { return std::vector<Tensor>{m.forward(index, offsets)}; };
  expect_network(nn::EmbeddingBag(nn::EmbeddingBagOptions(5, 3).mode(torch::kSum)), sum);
  expect_network(nn::EmbeddingBag(nn::EmbeddingBagOptions(5, 3).mode(torch::kMean)), sum);
  expect_network(nn::EmbeddingBag(nn::EmbeddingBagOptions(5, 3).mode(torch::kMax)), sum);
}

TEST(Networks, ConvolutionsWithStatistics) {
  auto x = torch::randn({2, 3, 8, 8});
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 6, 3).padding(1)), nn::BatchNorm2d(6), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 6, 3).stride(2).groups(2)),
                     nn::GroupNorm(2, 6), nn::GELU(), nn::Dropout2d(0.3), nn::AdaptiveAvgPool2d(1),
                     nn::Flatten(), nn::Linear(6, 4), nn::LogSoftmax(1));
  expect_network(net, [=](nn::SequentialImpl& m) { return std::vector<Tensor>{m.forward(x)}; });
  auto channels_last = x.contiguous(at::MemoryFormat::ChannelsLast);
  expect_network(net, [=](nn::SequentialImpl& m) { return std::vector<Tensor>{m.forward(channels_last)}; });
}

TEST(Networks, OtherConvolutions) {
  nn::Sequential one(nn::Conv1d(3, 4, 3), nn::InstanceNorm1d(4), nn::ELU(), nn::ConvTranspose1d(4, 2, 3));
  auto x = torch::randn({2, 3, 9});
  expect_network(one, [=](nn::SequentialImpl& m) { return std::vector<Tensor>{m.forward(x)}; });
  nn::Sequential three(nn::Conv3d(1, 2, 2), nn::BatchNorm3d(2), nn::AvgPool3d(2), nn::SELU());
  auto y = torch::randn({2, 1, 5, 5, 5});
  expect_network(three, [=](nn::SequentialImpl& m) { return std::vector<Tensor>{m.forward(y)}; });
}

TEST(Networks, NormsAndActivations) {  // CAP-16
  auto x = torch::randn({4, 8});
  nn::Sequential net(nn::LayerNorm(nn::LayerNormOptions({8})), nn::PReLU(), nn::Linear(8, 8),
                     nn::BatchNorm1d(8), nn::SiLU(), nn::AlphaDropout(0.2), nn::RReLU(), nn::Softplus(),
                     nn::Hardtanh(), nn::Softmax(1));
  expect_network(net, [=](nn::SequentialImpl& m) { return std::vector<Tensor>{m.forward(x)}; });
}

TEST(Networks, Losses) {
  nn::Linear net(6, 3);
  auto x = torch::randn({4, 6}), y = torch::rand({4, 3});
  auto label = torch::tensor({0, 2, 1, 1});
  namespace F = torch::nn::functional;
  expect_network(net, [=](nn::LinearImpl& m) {
    auto h = m.forward(x);
    return std::vector<Tensor>{F::cross_entropy(h, label),
                               F::mse_loss(h, y),
                               F::smooth_l1_loss(h, y),
                               F::binary_cross_entropy_with_logits(h, y),
                               F::kl_div(F::log_softmax(h, 1), y, F::KLDivFuncOptions(torch::kBatchMean)),
                               F::nll_loss(F::log_softmax(h, 1), label),
                               F::cosine_similarity(h, y, F::CosineSimilarityFuncOptions().dim(1))};
  });
}

}  // namespace
}  // namespace antegrad::test
