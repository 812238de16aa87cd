// Solves the Poisson equation  u_xx + u_yy = f  on the unit square with a net, where u is known to be
// sin(pi x) sin(pi y).
//
//     physics_informed [--steps N]
//
// The loss contains second derivatives of the net with respect to its inputs, and training differentiates it
// once more, with respect to the weights. torch::autograd::grad() is called inside the function, just as in
// eager: compiled, all three derivatives are one graph.
#include <antegrad/antegrad.h>

#include <cmath>

#include "example.h"

namespace {

using at::Tensor;
namespace nn = torch::nn;

constexpr int64_t kPoints = 256, kWidth = 32;

Tensor solution(const Tensor& points) { return (points * M_PI).sin().prod(1); }
Tensor right_side(const Tensor& points) { return -2 * M_PI * M_PI * solution(points); }

/// u, zero on the boundary by construction.
Tensor u_of(nn::Sequential& net, const Tensor& points) {
  return net->forward(points).squeeze(1) * (points * (1 - points)).prod(1) * 16;
}

Tensor gradient(const Tensor& of, const Tensor& by) {
  return torch::autograd::grad({of.sum()}, {by}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
}

/// Returns how far u is from solving the equation.
Tensor residual(nn::Sequential& net, const Tensor& at_points) {
  auto points = at_points.detach().requires_grad_();
  auto du = gradient(u_of(net, points), points);
  auto u_xx = gradient(du.select(1, 0), points).select(1, 0);
  auto u_yy = gradient(du.select(1, 1), points).select(1, 1);
  return u_xx + u_yy - right_side(points);
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = example::steps(argc, argv, 1500);
  torch::manual_seed(0);
  nn::Sequential net(nn::Linear(2, kWidth), nn::Tanh(), nn::Linear(kWidth, kWidth), nn::Tanh(),
                     nn::Linear(kWidth, 1));
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(3e-3));

  auto eager_loss = [&](const Tensor& points) { return residual(net, points).pow(2).mean(); };
  antegrad::Options options;
  options.name = "residual";
  options.watch = {net.ptr()};
  auto compiled_loss = antegrad::compile(eager_loss, options);

  auto train_step = [&](const auto& loss_of) {
    optimizer.zero_grad();
    auto loss = loss_of(torch::rand({kPoints, 2}));
    loss.backward();
    optimizer.step();
    return loss.template item<double>();
  };
  example::Log log("squared residual", steps);
  for (int step = 0; step < steps; ++step) log(train_step(compiled_loss));

  const auto points = torch::rand({1000, 2});
  const auto error = (u_of(net, points) - solution(points)).abs().max().item<double>();
  const double difference = example::difference(compiled_loss(points), eager_loss(points));
  std::printf("largest error of u, which reaches 1: %.4f; difference of the loss from eager: %.1e\n", error,
              difference);
  example::compare_times(
      "a training step", [&] { train_step(compiled_loss); }, [&] { train_step(eager_loss); });
  return log.last() < log.first() && difference < 1e-4 ? 0 : 1;
}
