// Recurrent layers and cells in loops, wide enough that their products are joined over all steps and their
// weights copied: results and gradients are eager's.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace nn = torch::nn;

constexpr int64_t kSteps = 6, kBatch = 12, kWidth = 40;

struct Sequence {
  Tensor x, h, c;
};

Sequence make_sequence() {
  manual_seed(3);
  auto leaf = [](at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); };
  return {leaf({kSteps, kBatch, kWidth}), leaf({1, kBatch, kWidth}), leaf({1, kBatch, kWidth})};
}

/// Returns the results and all gradients of a call.
template <class Call>
Tensors train(const nn::Module& module, const Sequence& sequence, const Call& call) {
  Tensors leaves = module.parameters();
  for (const auto& leaf : {sequence.x, sequence.h, sequence.c}) leaves.push_back(leaf);
  for (auto& leaf : leaves) leaf.mutable_grad().reset();
  Tensors results = call(sequence.x, sequence.h, sequence.c);
  Tensors out;
  Tensor loss = at::zeros({});
  for (size_t i = 0; i < results.size(); ++i) {
    loss = loss + (results[i] * at::cos(at::arange(results[i].numel()).view(results[i].sizes()))).sum();
    out.push_back(results[i].detach());
  }
  loss.backward();
  for (const auto& leaf : leaves)
    if (leaf.grad().defined()) out.push_back(leaf.grad().clone());
  return out;
}

/// Compares a compiled call with an eager one, and returns both passes as text.
template <class Call>
std::string expect_like_eager(nn::Module& module, const Call& call) {
  const auto sequence = make_sequence();
  Reference eager([&] { return train(module, sequence, call); });
  Options options;
  options.verify = true;
  options.watch = {module.shared_from_this()};
  auto compiled = compile(call, options);
  for (int round = 0; round < 2; ++round)
    EXPECT_EQ(eager.difference(train(module, sequence, compiled)), std::nullopt);
  EXPECT_EQ(compiled.report().captures, 1U);
  const auto explained = compiled.explain(sequence.x, sequence.h, sequence.c);
  return explained.forward + explained.backward;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

class Recurrent : public ::testing::Test {
 protected:
  void SetUp() override {
    manual_seed(1);
    at::set_num_threads(1);  // on a busy machine oneDNN's many small parallel regions are very slow
  }
};

TEST_F(Recurrent, Gru) {
  nn::GRU gru(nn::GRUOptions(kWidth, kWidth));
  const auto text = expect_like_eager(*gru, [&](const Tensor& x, const Tensor& h, const Tensor&) {
    auto [output, state] = gru->forward(x, h);
    return Tensors{output, state};
  });
  if (!runs_libtorch_kernels()) EXPECT_LE(count(text, "aten.mm("), static_cast<size_t>(kSteps) + 4);
}

TEST_F(Recurrent, CellInALoop) {
  nn::LSTMCell cell(kWidth, kWidth);
  const auto text = expect_like_eager(*cell, [&](const Tensor& x, const Tensor& h, const Tensor& c) {
    auto state = std::tuple(h[0], c[0]);
    Tensors results;
    for (int64_t t = 0; t < kSteps; ++t) {
      state = cell->forward(x[t], state);
      results.push_back(std::get<0>(state));
    }
    return Tensors{at::stack(results)};
  });
  if (!runs_libtorch_kernels()) EXPECT_GE(count(text, "aten.clone("), 2U);  // row-major weights
}

/// Compares an LSTM at many batch sizes with eager, and returns the report.
Report train_at_many_batch_sizes(const nn::LSTMOptions& lstm_options, const Options& options) {
  nn::LSTM lstm(lstm_options);
  const auto loss = [&](const Tensor& x) {
    const auto [y, state] = lstm->forward(x.sin());
    return y.square().sum() + std::get<0>(state).sum() + std::get<1>(state).cos().sum();
  };
  auto compiled = compile(loss, options);
  auto parameters = lstm->parameters();
  for (int64_t i = 0; i < 12; ++i) {
    const auto batch = i == 7 ? 1 : 2 + i * 5 % 11;
    manual_seed(static_cast<uint64_t>(i));
    auto x =
        (lstm_options.batch_first() ? at::randn({batch, 5, 4}) : at::randn({5, batch, 4})).requires_grad_();
    auto leaves = parameters;
    leaves.push_back(x);
    Reference eager([&] {
      const auto value = loss(x);
      auto all = torch::autograd::grad({value}, leaves);
      all.push_back(value.detach());
      return all;
    });
    const auto value = compiled(x);
    auto found = torch::autograd::grad({value}, leaves);
    found.push_back(value.detach());
    EXPECT_EQ(eager.difference(found), std::nullopt) << batch;
  }
  return compiled.report();
}

TEST_F(Recurrent, LstmsAreCompiledOnceForAllBatchSizes) {
  const auto plain = nn::LSTMOptions(4, 6);
  for (const auto& of : {plain, nn::LSTMOptions(plain).num_layers(2).bidirectional(true),
                         nn::LSTMOptions(plain).batch_first(true).bias(false)})
    for (const auto& policy : {Policy(MinCut{}), Policy(RecomputeAll{})}) {
      Options options;
      options.verify = true;
      options.policy = policy;
      EXPECT_LE(train_at_many_batch_sizes(of, options).captures, 3U);
    }
}

}  // namespace
}  // namespace antegrad::test
