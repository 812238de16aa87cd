// Training beyond one loss and one optimizer: random latents, forces in the loss, two competing nets,
// accumulated gradients. Compiled and eager side by side for 20 steps.
#include "cpu/training/training_nets.h"

namespace antegrad::test {
namespace {

// --- variational autoencoder

struct AutoencoderImpl : nn::Module {
  AutoencoderImpl() {
    register_module("encoder", encoder);
    register_module("mean", mean);
    register_module("log_variance", log_variance);
    register_module("decoder", decoder);
  }
  Tensor loss(const Tensor& x) {
    auto h = encoder->forward(x);
    auto mu = mean->forward(h), log_var = log_variance->forward(h);
    auto latent = mu + torch::randn_like(mu) * (0.5 * log_var).exp();
    auto likelihood = F::binary_cross_entropy_with_logits(decoder->forward(latent), x);
    auto divergence = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).mean();
    return likelihood + 0.1 * divergence;
  }
  nn::Sequential encoder{nn::Linear(12, 16), nn::ReLU()};
  nn::Linear mean{16, 4}, log_variance{16, 4};
  nn::Sequential decoder{nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 12)};
};
TORCH_MODULE(Autoencoder);

class VariationalAutoencoder : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() { return minimise(optimizer_, loss_(torch::rand({16, 12}))); }

 private:
  Autoencoder net_ = net(Autoencoder());
  std::function<Tensor(Tensor)> loss_ = function<Tensor>([this](const Tensor& x) { return net_->loss(x); });
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-2)};
};
TEST(TrainingPrograms, VariationalAutoencoder) {
  expect_equal_training<VariationalAutoencoder>(eager_random_numbers());
}

// --- an interatomic potential

TEST(TrainingPrograms, ForceMatching) { expect_equal_training<ForceMatching>(); }

/// The same with forces computed inside the compiled function, which is then differentiated once more.
class ForcesInside : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    auto positions = torch::randn({6, 3}, at::kDouble);
    auto forces = forces_(positions, torch::arange(6) % 3, all_pairs(6));
    return minimise(optimizer_, F::mse_loss(forces, -positions));
  }

 private:
  Tensor forces(const Tensor& positions, const Tensor& species, const Tensor& edges) {
    auto x = positions.detach().requires_grad_();
    auto energy = net_->forward(x, species, edges);
    return -torch::autograd::grad({energy}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  }
  /// The forces do not depend on the bias of the energy, so there is none.
  struct Unbiased : PotentialImpl {
    Unbiased() {
      readout = replace_module("readout", nn::Sequential(nn::Linear(16, 16), nn::Tanh(),
                                                         nn::Linear(nn::LinearOptions(16, 1).bias(false))));
      to(at::kDouble);
    }
  };
  nn::ModuleHolder<Unbiased> net_ = net(nn::ModuleHolder<Unbiased>());
  std::function<Tensor(Tensor, Tensor, Tensor)> forces_ = function<Tensor, Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& s, const Tensor& e) { return forces(x, s, e); });
  torch::optim::Adam optimizer_{net_->parameters(), torch::optim::AdamOptions(1e-2)};
};
TEST(TrainingPrograms, ForcesInside) { expect_equal_training<ForcesInside>(); }

// --- two competing nets

class Gan : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  static constexpr uint64_t kCaptures = 2;  // the judge's input requires gradients or not
  Losses step() {
    auto real = torch::randn({16, 2}) * 0.5 + 2;
    auto ones = torch::ones({16, 1}), zeros = torch::zeros({16, 1});

    auto fake = generate_(torch::randn({16, 4}));
    auto judge_loss = bce(judge_(real), ones) + bce(judge_(fake.detach()), zeros);
    auto judged = minimise(judge_optimizer_, judge_loss);

    // Through the judge's new weights into the generator; the gradients of the judge are not used.
    auto generator_loss = bce(judge_(fake), ones);
    auto generated = minimise(generator_optimizer_, generator_loss);
    return {judged[0], generated[0]};
  }

 private:
  static Tensor bce(const Tensor& logits, const Tensor& y) {
    return F::binary_cross_entropy_with_logits(logits, y);
  }
  nn::Sequential generator_ =
      net(nn::Sequential(nn::Linear(4, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Linear(16, 2)));
  nn::Sequential discriminator_ = net(nn::Sequential(nn::Linear(2, 16), nn::LeakyReLU(), nn::Linear(16, 1)));
  std::function<Tensor(Tensor)> generate_ = forward<Tensor>(generator_);
  std::function<Tensor(Tensor)> judge_ =
      function<Tensor>([this](const Tensor& x) { return discriminator_->forward(x); });
  torch::optim::Adam generator_optimizer_{generator_->parameters(), torch::optim::AdamOptions(2e-3)};
  torch::optim::Adam judge_optimizer_{discriminator_->parameters(), torch::optim::AdamOptions(2e-3)};
};
TEST(TrainingPrograms, Gan) { expect_equal_training<Gan>(); }

// --- gradients of several calls

class Accumulation : public TrainingProgram {
 public:
  using TrainingProgram::TrainingProgram;
  Losses step() {
    Losses losses;
    optimizer_.zero_grad();
    for (int micro_batch = 0; micro_batch < 4; ++micro_batch) {
      auto x = torch::randn({4, 6});
      auto loss = loss_(x, x.sum(1, true)) / 4;
      loss.backward();
      losses.push_back(loss.detach());
    }
    optimizer_.step();
    return losses;
  }

 protected:
  nn::Sequential net_ = net(nn::Sequential(nn::Linear(6, 16), nn::SiLU(), nn::Linear(16, 1)));
  std::function<Tensor(Tensor, Tensor)> loss_ = function<Tensor, Tensor>(
      [this](const Tensor& x, const Tensor& y) { return F::mse_loss(net_->forward(x), y); });
  torch::optim::SGD optimizer_{net_->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
};
TEST(TrainingPrograms, GradientAccumulation) { expect_equal_training<Accumulation>(); }

/// All forward passes first: the saved tensors of several calls are live at once, and one backward pass
/// consumes them.
class OneBackwardOfManyCalls : public Accumulation {
 public:
  using Accumulation::Accumulation;
  Losses step() {
    std::vector<Tensor> losses;
    for (int call = 0; call < 4; ++call) {
      auto x = torch::randn({4, 6});
      losses.push_back(loss_(x, x.sum(1, true)));
    }
    return minimise(optimizer_, torch::stack(losses).mean());
  }
};
TEST(TrainingPrograms, OneBackwardOfManyCalls) { expect_equal_training<OneBackwardOfManyCalls>(); }

/// Gradients stay allocated, are zeroed in place, and added to.
class GradientsZeroedInPlace : public Accumulation {
 public:
  using Accumulation::Accumulation;
  Losses step() {
    auto x = torch::randn({4, 6});
    auto loss = loss_(x, x.sum(1, true));
    optimizer_.zero_grad(/*set_to_none=*/false);
    loss.backward({}, /*keep_graph=*/true);
    loss.backward();  // once more into the same gradients
    optimizer_.step();
    return {loss.detach()};
  }
};
TEST(TrainingPrograms, GradientsZeroedInPlace) { expect_equal_training<GradientsZeroedInPlace>(); }

}  // namespace
}  // namespace antegrad::test
