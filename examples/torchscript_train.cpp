// Trains a TorchScript model, compiled, and saves it for C and Fortran programs.
//
//     torchscript_train [file, default potential.pt] [--steps N]
//
// TorchScript models mostly come from Python; this one is written in C++, so that there is a file to load. It
// computes the energy of atoms as a sum over pairs, and learns from the forces of a Lennard-Jones potential.
// c_potential and fortran_potential run the model that this program saves.
#include <antegrad/antegrad.h>
#include <antegrad/jit.h>
#include <torch/script.h>

#include "example.h"

namespace {

using at::Tensor;

constexpr int64_t kFeatures = 20, kWidth = 32, kClusters = 16;

/// Writes an untrained model.
void write_model(const std::string& path) {
  torch::jit::Module module("Potential");
  auto parameter = [&](const char* name, const Tensor& value) {
    module.register_parameter(name, value.set_requires_grad(true), /*is_buffer=*/false);
  };
  parameter("weight1", 0.3 * torch::randn({kFeatures, kWidth}));
  parameter("bias1", torch::zeros({kWidth}));
  parameter("weight2", 0.1 * torch::randn({kWidth, 1}));
  module.register_buffer("centres", torch::linspace(0.8, 2.5, kFeatures));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(R"(
    def forward(self, positions):
        # positions: [..., atoms, 3]; one energy for each [...]
        between = positions.unsqueeze(-2) - positions.unsqueeze(-3)
        itself = torch.eye(positions.size(-2), dtype=positions.dtype)
        d = (between.pow(2).sum(-1) + 100.0 * itself).sqrt().unsqueeze(-1)
        smooth = torch.relu(1.0 - (d / 2.5).pow(2)).pow(3)
        features = torch.exp(-30.0 * (d - self.centres).pow(2))
        hidden = torch.tanh(torch.matmul(features, self.weight1) + self.bias1)
        return 0.5 * (torch.matmul(hidden, self.weight2) * smooth).sum([-3, -2, -1])
  )");
  module.save(path);
}

/// Returns clusters of eight atoms: randomly displaced cubes of different sizes.
Tensor random_clusters() {
  auto axis = torch::arange(2.0) * 1.15;
  auto cube = torch::cartesian_prod({axis, axis, axis});
  return cube * (0.95 + 0.4 * torch::rand({kClusters, 1, 1})) + 0.05 * torch::randn({kClusters, 8, 3});
}

Tensor reference_energy(const Tensor& positions) {
  auto between = positions.unsqueeze(-2) - positions.unsqueeze(-3);
  auto d2 = between.pow(2).sum(-1) + 1e6 * torch::eye(positions.size(-2));
  return 2 * (d2.pow(-6) - d2.pow(-3)).sum({-2, -1});
}

template <class Energy>
Tensor forces(const Energy& energy_of, const Tensor& positions, bool create_graph) {
  auto x = positions.detach().requires_grad_();
  auto energy = energy_of(x).sum();
  return -torch::autograd::grad({energy}, {x}, {}, create_graph, create_graph)[0];
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 600);
  const auto path = example::file(argc, argv, "potential.pt");
  torch::manual_seed(0);
  torch::set_default_dtype(c10::scalarTypeToTypeMeta(at::kDouble));
  write_model(path);

  // --- from here on, the same as with any TorchScript file
  auto module = torch::jit::load(path);
  auto compiled = antegrad::compile(module);  // shares the module's parameters
  std::vector<Tensor> parameters;
  for (const auto& parameter : module.parameters()) parameters.push_back(parameter);
  torch::optim::Adam optimizer(parameters, torch::optim::AdamOptions(1e-2));

  auto compiled_energy = [&](const Tensor& positions) { return compiled(positions).toTensor(); };
  auto eager_energy = [&](const Tensor& positions) { return module.forward({positions}).toTensor(); };
  auto train_step = [&](const auto& energy_of) {
    auto positions = random_clusters();
    auto wanted = forces(reference_energy, positions, /*create_graph=*/false);
    auto loss = (forces(energy_of, positions, /*create_graph=*/true) - wanted).pow(2).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return std::sqrt(loss.template item<double>() / wanted.pow(2).mean().template item<double>());
  };
  example::Log log("relative error of forces", steps);
  for (int step = 0; step < steps; ++step) log(train_step(compiled_energy));
  module.save(path);
  std::printf("%s is written\n", path.c_str());

  auto positions = random_clusters();
  const double difference =
      example::difference(forces(compiled_energy, positions, false), forces(eager_energy, positions, false));
  std::printf("largest difference of forces from TorchScript's: %.1e\n", difference);
  example::compare_times(
      "a training step", [&] { train_step(compiled_energy); }, [&] { train_step(eager_energy); });
  return log.last() < log.first() && difference < 1e-8 ? 0 : 1;
}
