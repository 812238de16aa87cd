#pragma once
// Training programs that several tests run.
#include "support/training.h"

namespace antegrad::test {

using at::Tensor;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

// --- fully connected

inline nn::Sequential make_mlp() {
  return nn::Sequential(nn::Linear(8, 32), nn::Tanh(), nn::LayerNorm(nn::LayerNormOptions({32})),
                        nn::Linear(32, 32), nn::GELU(), nn::Linear(32, 3));
}

class Mlp : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto x = torch::randn({16, 8});
    return minimise(optimizer_, loss_(x, x.slice(1, 0, 3).sin()));
  }

 private:
  nn::Sequential net_ = net(make_mlp());
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::mse_loss(net_->forward(x), y); });
  torch::optim::SGD optimizer_{net_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
};

// --- convolutions, batch norm, dropout

class ConvolutionsWithDropout : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto images = torch::randn({8, 3, 12, 12});
    return minimise(optimizer_, loss_(images, torch::randint(0, 5, {8})));
  }

 private:
  nn::Sequential net_ = net(nn::Sequential(
      nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)), nn::BatchNorm2d(8), nn::ReLU(), nn::MaxPool2d(2),
      nn::Dropout2d(0.2), nn::Conv2d(nn::Conv2dOptions(8, 16, 3).stride(2)), nn::BatchNorm2d(16),
      nn::LeakyReLU(), nn::Flatten(), nn::Dropout(0.5), nn::Linear(64, 5)));
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::cross_entropy(net_->forward(x), y); });
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-2)};
};

// --- causal attention

struct GptBlockImpl : nn::Module {
  GptBlockImpl(int64_t width, int64_t heads)
      : heads(heads),
        norm1(nn::LayerNormOptions({width})),
        norm2(nn::LayerNormOptions({width})),
        qkv(width, 3 * width),
        project(width, width),
        mlp(nn::Linear(width, 4 * width), nn::GELU(), nn::Linear(4 * width, width)) {
    register_module("norm1", norm1);
    register_module("norm2", norm2);
    register_module("qkv", qkv);
    register_module("project", project);
    register_module("mlp", mlp);
  }
  Tensor forward(const Tensor& x) {
    const auto batch = x.size(0), length = x.size(1), width = x.size(2);
    std::vector<Tensor> parts;
    for (const auto& part : qkv->forward(norm1->forward(x)).chunk(3, -1))
      parts.push_back(part.view({batch, length, heads, width / heads}).transpose(1, 2));
    auto attention = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    auto h = x + project->forward(attention.transpose(1, 2).reshape({batch, length, width}));
    return h + mlp->forward(norm2->forward(h));
  }
  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, project;
  nn::Sequential mlp;
};
TORCH_MODULE(GptBlock);

/// The head shares the embedding's weight: two gradients are added in one parameter.
struct GptImpl : nn::Module {
  GptImpl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
    register_module("blocks", blocks);
    register_module("norm", norm);
  }
  Tensor forward(const Tensor& x) {
    auto places = torch::arange(x.size(1));
    auto h = blocks->forward(tokens->forward(x) + positions->forward(places));
    return F::linear(norm->forward(h), tokens->weight).flatten(0, 1);
  }
  nn::Embedding tokens{13, 16}, positions{10, 16};
  nn::Sequential blocks{GptBlock(16, 4), GptBlock(16, 4)};
  nn::LayerNorm norm{nn::LayerNormOptions({16})};
};
TORCH_MODULE(Gpt);

class GptTraining : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto tokens = torch::randint(0, 13, {3, 10});
    return minimise(optimizer_, loss_(tokens, tokens.roll(1, 1).flatten()));
  }

 protected:
  Gpt net_ = net(Gpt());
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::cross_entropy(net_->forward(x), y); });
  torch::optim::AdamW optimizer_{net_->parameters(), torch::optim::AdamWOptions(3e-3)};
};

// --- an interatomic potential, trained on forces

/// Messages along the edges of a graph, an energy per atom.
struct PotentialImpl : nn::Module {
  PotentialImpl() {
    register_module("filter", filter);
    register_module("readout", readout);
    embedding = register_parameter("embedding", torch::randn({3, 16}));
    to(at::kDouble);
  }
  Tensor forward(const Tensor& positions, const Tensor& species, const Tensor& edges) {
    auto from = edges[0], to = edges[1];
    auto distance = (positions.index_select(0, from) - positions.index_select(0, to)).norm(2, -1, true);
    auto features = torch::exp(-2 * (distance - centres()).pow(2));
    auto atoms = embedding.index_select(0, species);
    auto messages = atoms.index_select(0, from) * filter->forward(features);
    atoms = atoms + torch::zeros_like(atoms).index_add(0, to, messages);
    return readout->forward(atoms).sum();
  }
  static Tensor centres() { return torch::linspace(0.5, 3, 8, at::kDouble); }
  nn::Sequential filter{nn::Linear(8, 16), nn::SiLU(), nn::Linear(16, 16)};
  nn::Sequential readout{nn::Linear(16, 16), nn::Tanh(), nn::Linear(16, 1)};
  Tensor embedding;
};
TORCH_MODULE(Potential);

inline Tensor all_pairs(int64_t atoms) {
  auto pairs = torch::ones({atoms, atoms}, at::kBool).fill_diagonal_(false).nonzero();
  return pairs.t().contiguous();
}

class ForceMatching : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  /// The second backward pass adds in another order than eager's, which goes node by node.
  static constexpr bool kEagerOrder = false;
  Losses step() {
    auto positions = torch::randn({6, 3}, at::kDouble).requires_grad_();
    auto energy = energy_(positions, torch::arange(6) % 3, all_pairs(6));
    auto forces = -torch::autograd::grad({energy}, {positions}, {}, /*retain_graph=*/true,
                                         /*create_graph=*/true)[0];
    auto wanted = -positions.detach();  // of a spring that holds each atom at the origin
    auto loss = F::mse_loss(forces, wanted) + 1e-3 * energy.pow(2);
    minimise(optimizer_, loss);
    return {loss.detach(), energy.detach(), forces.detach()};
  }

 private:
  Potential net_ = net(Potential());
  std::function<Tensor(Tensor, Tensor, Tensor)> energy_ = forward<Tensor, Tensor, Tensor>(net_);
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-2)};
};

}  // namespace antegrad::test
