// Calls without gradients: the cost of a compiled call compared with the same call in eager.
#include <ATen/Functions.h>
#include <antegrad/antegrad.h>
#include <c10/core/GradMode.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "programs.h"
#include "side_by_side.h"

namespace antegrad::benchmarks {
namespace {

template <class F, class... Args>
void compare(benchmark::State& state, F function, const Args&... args) {
  at::NoGradGuard no_grad;
  auto compiled = compile(function);
  side_by_side(
      state, [&] { return function(args...); }, [&] { return compiled(args...); });
}

void relu_of_16(benchmark::State& state) {
  compare(
      state, [](const at::Tensor& x) { return at::relu(x); }, at::randn({16}));
}

void add_of_16(benchmark::State& state) {
  compare(
      state, [](const at::Tensor& x, const at::Tensor& y) { return at::add(x, y); }, at::randn({16}),
      at::randn({16}));
}

void mm_of_8x8(benchmark::State& state) {
  compare(
      state, [](const at::Tensor& x, const at::Tensor& y) { return at::mm(x, y); }, at::randn({8, 8}),
      at::randn({8, 8}));
}

void in_place_add(benchmark::State& state) {
  compare(
      state, [](at::Tensor x) { return x.add_(1); }, at::zeros({16}));
}

void returns_view(benchmark::State& state) {
  compare(
      state,
      [](const at::Tensor& x) {
        return x.view({4, 4}).transpose(0, 1);
      },
      at::randn({16}));
}

/// Arguments and results other than plain tensors go through the trees of <antegrad/tree.h>.
void pair_of_results(benchmark::State& state) {
  compare(
      state, [](const at::Tensor& x, double by) { return std::pair(at::mul(x, by), at::relu(x)); },
      at::randn({16}), 2.0);
}

void pointwise_50(benchmark::State& state) { compare(state, pointwise_chain, at::randn({16})); }

void mixed_50(benchmark::State& state) {
  const MixedProgram program(50);
  compare(
      state, [&](const at::Tensor& x) { return program(x); }, MixedProgram::example_input());
}

void module_of_10_layers(benchmark::State& state) {
  at::NoGradGuard no_grad;
  torch::nn::Sequential net;
  for (int layer = 0; layer < 10; ++layer) {
    net->push_back(torch::nn::Linear(8, 8));
    net->push_back(torch::nn::ReLU());
  }
  const auto x = MixedProgram::example_input();
  auto compiled =
      compile(net);  // watches the module: its 21 modules and 20 tensors are checked at every call
  side_by_side(
      state, [&] { return net->forward(x); }, [&] { return compiled(x); });
}

BENCHMARK(relu_of_16)->UseManualTime()->MinTime(0.02);
BENCHMARK(add_of_16)->UseManualTime()->MinTime(0.02);
BENCHMARK(mm_of_8x8)->UseManualTime()->MinTime(0.02);
BENCHMARK(in_place_add)->UseManualTime()->MinTime(0.02);
BENCHMARK(returns_view)->UseManualTime()->MinTime(0.02);
BENCHMARK(pair_of_results)->UseManualTime()->MinTime(0.02);
BENCHMARK(pointwise_50)->UseManualTime()->MinTime(0.02);
BENCHMARK(mixed_50)->UseManualTime()->MinTime(0.02);
BENCHMARK(module_of_10_layers)->UseManualTime()->MinTime(0.02);

}  // namespace
}  // namespace antegrad::benchmarks
