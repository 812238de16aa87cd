#pragma once
// Nets for training steps, made twice alike from one seed.
#include <torch/torch.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fuzz/rng.h"

namespace antegrad::fuzz {

/// The sum of a * b, whose gradients are the very tensors that it has read.
struct ProductWithOwnReads : torch::autograd::Function<ProductWithOwnReads> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& a,
                            const at::Tensor& b) {
    context->save_for_backward({a, b});
    return (a * b).sum();
  }
  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* context,
                                          const std::vector<at::Tensor>&) {
    const auto saved = context->get_saved_variables();
    return {saved[1], saved[0]};
  }
};

struct RandomNet {
  using Tensor = at::Tensor;
  using Tensors = std::vector<Tensor>;

  Tensors weights;             ///< matrices, then the others
  Tensors trained;             ///< those that the optimizer has
  Tensors constants;           ///< on the memory of weights, without gradients
  Tensors buffers;             ///< the number of calls, and a mean
  std::vector<size_t> layers;  ///< which weight each one multiplies by

  explicit RandomNet(uint64_t seed) {
    Rng rng(seed);
    torch::manual_seed(seed);
    const auto width = rng.percent(20) ? rng.range(60, 90) : rng.range(1, 8);
    const auto random = [&](at::IntArrayRef sizes) { return torch::randn(sizes, at::kDouble) / 3; };
    for (auto n = rng.range(2, 6); n > 0; --n) weights.push_back(random({width, width}));
    matrices_ = weights.size();
    if (rng.percent(15)) {
      const auto whole = random({2 * width, width});
      weights[0] = whole.narrow(0, 0, width);
      weights[1] = whole.narrow(0, rng.range(0, width), width);
    }
    if (rng.percent(20)) weights.back() = weights.back().t();
    const auto add = [&](int64_t chance, const Tensor& weight) {
      if (!rng.percent(chance)) return size_t{0};
      weights.push_back(weight);
      return weights.size() - 1;
    };
    table_ = add(30, random({5, width}));
    bias_ = add(40, random({width}));
    scale_ = add(25, random({}));
    const auto format = rng.percent(50) ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast;
    filters_ = add(20, random({2, 1, 3, 3}).contiguous(format));
    if (filters_ > 0) weights.push_back(random({1, 2, 3, 3}).contiguous(format));
    for (auto& weight : weights) prepare(rng, weight);
    const auto pick = [&] { return static_cast<size_t>(rng.below(static_cast<int64_t>(matrices_))); };
    for (auto n = rng.range(1, 6); n > 0; --n) layers.push_back(pick());
    auto& last = weights[layers.back()].set_requires_grad(true);  // so that there is something to train
    if (std::ranges::none_of(trained, [&](const Tensor& t) { return t.is_same(last); }))
      trained.push_back(last);
    writes_weight_ = rng.percent(8);
    counts_calls_ = rng.percent(15);
    keeps_mean_ = rng.percent(15);
    writes_batch_ = rng.percent(8);
    is_penalised_ = rng.percent(12);
    if (rng.percent(15)) products_.emplace_back(pick(), pick());
    for (auto n = rng.below(4); n > 0; --n) results_.emplace_back(rng.below(7), pick());
    buffers = {torch::zeros({1}, at::kDouble), torch::zeros({width}, at::kDouble)};
  }

  int64_t width() const { return weights[0].size(1); }

  /// Returns the loss and other results.
  std::pair<Tensor, Tensors> operator()(const Tensor& x) const {
    auto y = writes_batch_ ? x * 1 : x;
    if (table_ > 0)
      y = y + at::embedding(weights[table_], (x.select(1, 0).abs() * 3).to(at::kLong).clamp(0, 4));
    for (auto layer : layers) y = at::tanh(at::mm(y, weights[layer]));
    if (filters_ > 0) y = y + filtered(y);
    if (bias_ > 0) y = y + weights[bias_];
    if (scale_ > 0) y = y * weights[scale_];
    for (const auto& constant : constants) y = y + constant.mean() * x.mean();
    if (keeps_mean_) y = y - buffers[1];
    auto loss = (y + buffers[0] / 8).pow(2).mean();
    if (is_penalised_) loss = loss + penalty(x);
    for (const auto& [a, b] : products_) loss = loss + ProductWithOwnReads::apply(weights[a], weights[b]);
    Tensors results;
    for (const auto& [kind, weight] : results_) results.push_back(result(kind, weights[weight], y));
    const at::NoGradGuard no_grad;
    if (counts_calls_) Tensor(buffers[0]).add_(1);
    if (keeps_mean_) Tensor(buffers[1]).mul_(0.9).add_(y.detach().mean(0), 0.1);
    if (writes_weight_) weights[layers[0]].data().mul_(0.75);
    if (writes_batch_) Tensor(x).mul_(0.5);
    return {loss, results};
  }

 private:
  /// Decides what else refers to the weight, and whether it is trained.
  void prepare(Rng& rng, Tensor& weight) {
    weight = weight.detach();
    memory_.push_back(weight.detach());
    if (rng.percent(15)) constants.push_back(weight);
    if (rng.percent(8) && weight.is_contiguous())
      constants.push_back(at::from_blob(weight.data_ptr(), weight.sizes(), weight.options()));
    weight = weight.detach();
    weight.set_requires_grad(!rng.percent(15));
    if (weight.requires_grad() || rng.percent(50)) trained.push_back(weight);
  }

  Tensor filtered(const Tensor& y) const {
    const auto image = y.unsqueeze(0).unsqueeze(0);
    const auto inner = at::tanh(at::conv2d(image, weights[filters_], {}, 1, 1));
    return at::conv2d(inner, weights[filters_ + 1], {}, 1, 1).squeeze(0).squeeze(0);
  }

  /// Has gradients of gradients.
  Tensor penalty(const Tensor& x) const {
    const at::AutoGradMode grad_mode(true);
    const auto variable = x.detach().clone().requires_grad_();
    const auto value = at::tanh(at::mm(variable, weights[layers.back()])).sum();
    const auto slope = torch::autograd::grad({value}, {variable}, {}, true, true)[0];
    return (slope.pow(2).sum(1) - 1).pow(2).mean() / 8;
  }

  static Tensor result(int64_t kind, const Tensor& weight, const Tensor& y) {
    switch (kind) {
      case 0:
        return y;
      case 1:
        return weight;
      case 2:
        return weight.t();
      case 3:
        return weight.clone();
      case 4:
        return weight.detach() * 2;
      case 5:
        return weight.sum();
      default:
        return at::mm(y, weight);
    }
  }

  size_t matrices_ = 0;
  size_t table_ = 0, bias_ = 0, scale_ = 0, filters_ = 0;  ///< where these weights are; 0: there is none
  bool writes_weight_ = false, counts_calls_ = false, keeps_mean_ = false, writes_batch_ = false;
  bool is_penalised_ = false;
  std::vector<std::pair<size_t, size_t>> products_;
  std::vector<std::pair<int64_t, size_t>> results_;  ///< kinds, and of which weight
  Tensors memory_;                                   ///< stays when weights get other memory
};

}  // namespace antegrad::fuzz
