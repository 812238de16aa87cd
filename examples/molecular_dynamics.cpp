// Learns how atoms attract and repel each other, then lets them move.
//
//     molecular_dynamics [--steps N]
//
// A net computes the energy of 108 atoms in a periodic box. Its forces, minus the gradient with respect to
// the positions, are trained to match those of a Lennard-Jones potential. Then the atoms move under these
// forces, and their energy must be conserved. The net sees pairs of neighbours, whose number changes with
// every new neighbour list: nothing is compiled after the second list.
#include <antegrad/antegrad.h>

#include <cmath>

#include "example.h"

namespace {

using at::Tensor;
namespace nn = torch::nn;

constexpr int64_t kCells = 3, kAtoms = 4 * kCells * kCells * kCells, kFeatures = 16, kWidth = 32;
constexpr double kBox = 5.13, kCutoff = 2.2, kSkin = 0.3, kTimeStep = 0.004, kLearningRate = 2e-2;

/// Maps each component to the nearest image of the periodic box.
Tensor wrap(const Tensor& difference) { return difference - kBox * torch::round(difference / kBox); }

/// Returns all ordered pairs nearer than the cutoff and a margin: {2, pairs}.
Tensor neighbours(const Tensor& positions) {
  auto distance = wrap(positions.unsqueeze(1) - positions.unsqueeze(0)).norm(2, -1);
  distance.fill_diagonal_(2 * kBox);
  return (distance < kCutoff + kSkin).nonzero().t().contiguous();
}

Tensor pair_vectors(const Tensor& positions, const Tensor& pairs) {
  return wrap(positions.index_select(0, pairs[0]) - positions.index_select(0, pairs[1]));
}

/// Returns 1 at distance 0, falling smoothly to 0 at the cutoff.
Tensor switch_off(const Tensor& distance) { return torch::relu(1 - (distance / kCutoff).pow(2)).pow(3); }
/// The reference: a Lennard-Jones potential that goes to zero at the cutoff.
Tensor reference_energy(const Tensor& positions, const Tensor& pairs) {
  auto d = pair_vectors(positions, pairs).norm(2, -1);
  return (2 * (d.pow(-12) - d.pow(-6)) * switch_off(d)).sum();
}

struct PotentialImpl : nn::Module {
  PotentialImpl() {
    register_module("net", net);
    centres = register_buffer("centres", torch::linspace(0.8, kCutoff, kFeatures));
  }
  /// Returns the sum of what the net computes for each atom's neighbourhood.
  Tensor forward(const Tensor& positions, const Tensor& pairs) {
    auto d = pair_vectors(positions, pairs).norm(2, -1, /*keepdim=*/true);
    auto features = torch::exp(-40 * (d - centres).pow(2)) * switch_off(d);
    auto around = torch::zeros({positions.size(0), kFeatures}).index_add(0, pairs[0], features);
    return net->forward(around).sum();
  }
  nn::Sequential net{nn::Linear(kFeatures, kWidth), nn::SiLU(), nn::Linear(kWidth, kWidth), nn::SiLU(),
                     nn::Linear(kWidth, 1)};
  Tensor centres;
};
TORCH_MODULE(Potential);

/// Returns a crystal with randomly displaced atoms.
Tensor shaken_crystal(double amount) {
  auto cell = torch::tensor({{0.0, 0.0, 0.0}, {0.5, 0.5, 0.0}, {0.5, 0.0, 0.5}, {0.0, 0.5, 0.5}});
  auto axis = torch::arange(static_cast<double>(kCells));
  auto corners = torch::cartesian_prod({axis, axis, axis}).unsqueeze(1);
  auto crystal = (corners + cell).reshape({kAtoms, 3}) * (kBox / kCells);
  return crystal + amount * torch::randn_like(crystal);
}

template <class Energy>
Tensor gradient(const Energy& energy_of, const Tensor& positions, const Tensor& pairs, bool create_graph) {
  auto x = positions.detach().requires_grad_();
  return torch::autograd::grad({energy_of(x, pairs)}, {x}, {}, create_graph, create_graph)[0];
}

/// Runs velocity Verlet with all masses 1. Returns the largest energy drift, relative to the kinetic energy.
template <class ValueAndGrad>
double move_atoms(const ValueAndGrad& value_and_grad, Tensor& positions, Tensor& pairs, int moves) {
  auto velocities = 0.5 * torch::randn_like(positions);
  auto kinetic = [&] { return 0.5 * velocities.pow(2).sum().item<double>(); };
  auto [energy, gradients] = value_and_grad(positions, pairs);
  const double kinetic_at_first = kinetic(), at_first = energy.template item<double>() + kinetic();
  double drift = 0;
  for (int move = 1; move <= moves; ++move) {
    velocities -= 0.5 * kTimeStep * gradients[0];
    positions += kTimeStep * velocities;
    if (move % 10 == 0) pairs = neighbours(positions);
    std::tie(energy, gradients) = value_and_grad(positions, pairs);
    velocities -= 0.5 * kTimeStep * gradients[0];
    drift = std::max(drift, std::abs(energy.template item<double>() + kinetic() - at_first));
  }
  return drift / kinetic_at_first;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 500);
  torch::manual_seed(0);
  torch::set_default_dtype(c10::scalarTypeToTypeMeta(at::kDouble));  // for energy conservation
  Potential potential;
  torch::optim::Adam optimizer(potential->parameters(), torch::optim::AdamOptions(kLearningRate));

  auto energy = [&](const Tensor& positions, const Tensor& pairs) {
    return potential->forward(positions, pairs);
  };
  auto eager_loss = [&](const Tensor& positions, const Tensor& pairs, const Tensor& wanted) {
    auto forces = -gradient(energy, positions, pairs, /*create_graph=*/true);
    return (forces - wanted).pow(2).mean() / wanted.pow(2).mean();
  };
  antegrad::Options options;
  options.watch = {potential.ptr()};
  auto compiled_loss = antegrad::compile(eager_loss, options);
  auto value_and_grad = antegrad::value_and_grad(energy, options);  // energy and gradient in one program

  auto train_step = [&](const auto& loss_of) {
    auto positions = shaken_crystal(0.06);
    auto pairs = neighbours(positions);
    auto wanted = -gradient(reference_energy, positions, pairs, /*create_graph=*/false);
    optimizer.zero_grad();
    auto loss = loss_of(positions, pairs, wanted);
    loss.backward();
    optimizer.step();
    return std::sqrt(loss.template item<double>());
  };
  example::Log log("relative error of forces", steps);
  for (int step = 0; step < steps; ++step) {
    const double rate = kLearningRate * (1 - 0.95 * step / steps);
    for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
    log(train_step(compiled_loss));
  }

  auto positions = shaken_crystal(0.03);
  auto pairs = neighbours(positions);
  const double drift = move_atoms(value_and_grad, positions, pairs, steps);
  auto eager_gradient = [&] { return gradient(energy, positions, pairs, /*create_graph=*/false); };
  const double difference = example::difference(value_and_grad(positions, pairs).second[0], eager_gradient());
  std::printf("%d moves: the energy was kept within %.2g %% of the kinetic energy\n", steps, 100 * drift);
  const auto report = value_and_grad.report();
  std::printf("lists of %d lengths, compiled %d times; difference of forces from eager: %.1e\n",
              static_cast<int>(report.sizes), static_cast<int>(report.captures), difference);
  example::compare_times(
      "a training step", [&] { train_step(compiled_loss); }, [&] { train_step(eager_loss); });
  example::compare_times(
      "forces", [&] { value_and_grad(positions, pairs); }, [&] { eager_gradient(); });
  return log.last() < log.first() && drift < 0.01 && difference < 1e-8 ? 0 : 1;
}
