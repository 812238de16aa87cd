// Learns an interatomic potential from forces.
//
// The net computes the energy of some atoms; the forces are minus its gradient with respect to their
// positions; the loss compares them with the forces of a Lennard-Jones potential. So training differentiates
// a gradient: the compiled energy is called, torch::autograd::grad(…, create_graph) runs its compiled
// backward pass, and loss.backward() differentiates that pass.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <functional>

namespace {

using at::Tensor;
namespace nn = torch::nn;

constexpr int64_t kClusters = 16, kSide = 2, kAtoms = kSide * kSide * kSide, kFeatures = 24, kWidth = 48;
constexpr double kCutoff = 2.5;

/// Returns the vectors between all atoms of a cluster: {clusters, atoms, atoms, 3}.
Tensor differences(const Tensor& positions) { return positions.unsqueeze(2) - positions.unsqueeze(1); }

/// Returns distances, with one beyond the cutoff in place of an atom's distance to itself.
Tensor distances(const Tensor& difference) {
  auto squared = difference.pow(2).sum(-1);
  return (squared + torch::eye(kAtoms) * (4 * kCutoff * kCutoff)).sqrt();
}

// --- the reference: E = sum over pairs of 4 (d^-12 - d^-6), and its derivative by hand

Tensor reference_forces(const Tensor& positions) {
  auto difference = differences(positions);
  auto d = distances(difference);
  auto pair_force = 24 * (2 * d.pow(-13) - d.pow(-7)) * (1 - torch::eye(kAtoms));
  return ((pair_force / d).unsqueeze(-1) * difference).sum(2);
}

/// Returns cubes with edges near the equilibrium distance of two atoms, randomly displaced.
Tensor random_clusters() {
  auto axis = torch::arange(kSide) * 1.15;
  auto lattice = torch::cartesian_prod({axis, axis, axis});
  return lattice + torch::randn({kClusters, kAtoms, 3}) * 0.06;
}

// --- the model

struct PotentialImpl : nn::Module {
  PotentialImpl() {
    register_module("net", net);
    centres = register_buffer("centres", torch::linspace(0.8, kCutoff, kFeatures));
  }
  /// Returns one energy per cluster.
  Tensor forward(const Tensor& positions) {
    auto d = distances(differences(positions));
    auto within = (d < kCutoff).to(at::kFloat);
    auto cut = 0.5 * (torch::cos(d * (M_PI / kCutoff)) + 1) * within;
    auto radial = torch::exp(-60 * (d.unsqueeze(-1) - centres).pow(2)) * cut.unsqueeze(-1);
    auto neighbourhood = radial.sum(2);  // of each atom
    return net->forward(neighbourhood).sum({1, 2});
  }
  nn::Sequential net{nn::Linear(kFeatures, kWidth), nn::SiLU(), nn::Linear(kWidth, kWidth), nn::SiLU(),
                     nn::Linear(kWidth, 1)};
  Tensor centres;
};
TORCH_MODULE(Potential);

using Energy = std::function<Tensor(Tensor)>;

Tensor forces(const Energy& energy_of, const Tensor& positions, bool create_graph) {
  auto x = positions.detach().requires_grad_();
  auto energy = energy_of(x).sum();
  return -torch::autograd::grad({energy}, {x}, {}, /*retain_graph=*/create_graph, create_graph)[0];
}

double root_mean_square(const Tensor& x) { return x.detach().pow(2).mean().sqrt().item<double>(); }

}  // namespace

int main() {
  torch::manual_seed(0);
  constexpr int kSteps = 600;
  constexpr double kLearningRate = 5e-3;
  Potential potential;
  auto compiled = antegrad::compile(potential);
  const Energy eager = [&](const Tensor& positions) { return potential->forward(positions); };
  torch::optim::Adam optimizer(potential->parameters(), torch::optim::AdamOptions(kLearningRate));

  std::printf("%d clusters of %d atoms a step\n", static_cast<int>(kClusters), static_cast<int>(kAtoms));
  for (int step = 1; step <= kSteps; ++step) {
    const double done = static_cast<double>(step) / kSteps;
    for (auto& group : optimizer.param_groups()) group.options().set_lr(kLearningRate * (1 - 0.95 * done));
    auto positions = random_clusters();
    auto wanted = reference_forces(positions);
    auto error = forces(compiled, positions, /*create_graph=*/true) - wanted;
    auto loss = error.pow(2).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step == 1 || step % 100 == 0)
      std::printf("step %4d   loss %9.4f   error of forces %5.1f %%\n", step, loss.item<double>(),
                  100 * root_mean_square(error) / root_mean_square(wanted));
    std::fflush(stdout);
  }

  auto positions = random_clusters();
  auto wanted = reference_forces(positions);
  auto compiled_forces = forces(compiled, positions, /*create_graph=*/false);
  auto eager_forces = forces(eager, positions, /*create_graph=*/false);
  const double difference = (compiled_forces - eager_forces).abs().max().item<double>();
  std::printf(
      "new clusters: error of forces %.1f %%; largest difference of compiled forces from eager's: %g\n",
      100 * root_mean_square(compiled_forces - wanted) / root_mean_square(wanted), difference);
  return difference <= 1e-5 * root_mean_square(wanted) ? 0 : 1;
}
