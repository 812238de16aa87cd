// Steps of AdamW: LibTorch's own, its fused op, and compiled, in turns.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <antegrad/optim.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "device.h"
#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

/// What at::_fused_adamw_ works on.
struct FusedState {
  std::vector<Tensor> parameters, gradients, means, squares, largest, steps;

  explicit FusedState(const std::vector<Tensor>& of) {
    for (const auto& parameter : of) {
      parameters.push_back(parameter.detach());
      gradients.push_back(parameter.grad());
      means.push_back(at::zeros_like(parameter));
      squares.push_back(at::zeros_like(parameter));
      steps.push_back(at::zeros({}, parameter.options().requires_grad(false)));
    }
  }
  void step() {
    const at::NoGradGuard no_grad;
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(parameters, gradients, means, squares, largest, steps, 1e-3, 0.9, 0.999, 1e-2, 1e-8,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
};

/// Parameters of a language model of 12 layers, 768 wide.
std::vector<std::vector<int64_t>> gpt_sizes() {
  std::vector<std::vector<int64_t>> sizes{{50304, 768}, {1024, 768}};
  for (int layer = 0; layer < 12; ++layer)
    for (const auto& size : std::vector<std::vector<int64_t>>{{768},
                                                              {768},
                                                              {2304, 768},
                                                              {2304},
                                                              {768, 768},
                                                              {768},
                                                              {768},
                                                              {768},
                                                              {3072, 768},
                                                              {3072},
                                                              {768, 3072},
                                                              {768}})
      sizes.push_back(size);
  for (const auto& size : std::vector<std::vector<int64_t>>{{768}, {768}, {50304, 768}})
    sizes.push_back(size);
  return sizes;
}

void measure_optimizer(const std::string& name, const std::vector<std::vector<int64_t>>& sizes,
                       double seconds) {
  std::vector<Tensor> parameters;
  double elements = 0;
  for (const auto& size : sizes) {
    parameters.push_back(torch::randn(size, device()).requires_grad_());
    parameters.back().mutable_grad() = torch::randn(size, device());
    elements += static_cast<double>(parameters.back().numel());
  }
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(1e-3));
  FusedState fused(parameters);
  StepOptions clipping;
  clipping.clip_norm = 1e9;
  const auto step = compiled_step(optimizer), clipped = compiled_step(optimizer, clipping);
  auto from = torch::randn({static_cast<int64_t>(elements)}, device()), to = torch::empty_like(from);
  const auto waiting = [](auto run) {
    return [run] {
      run();
      synchronize();
    };
  };
  const auto ns = medians_in_turns({waiting([&] { optimizer.step(); }), waiting([&] { fused.step(); }),
                                    waiting([&] { step(); }), waiting([&] {
                                      torch::nn::utils::clip_grad_norm_(parameters, 1e9);
                                      optimizer.step();
                                    }),
                                    waiting([&] { clipped(); }), waiting([&] { to.copy_(from); })},
                                   seconds);
  const double bandwidth = 28 * elements / ns[2], of_copy = 8 * elements / ns[5];
  std::printf("%-12s %11.0f %11.0f %11.0f %9.2fx %9.2fx %11.0f %11.0f %9.2fx %10.0f%%\n", name.c_str(),
              ns[0] * 1e-3, ns[1] * 1e-3, ns[2] * 1e-3, ns[0] / ns[2], ns[1] / ns[2], ns[3] * 1e-3,
              ns[4] * 1e-3, ns[3] / ns[4], 100 * bandwidth / of_copy);
}

void measure_squares(int count, int64_t side, double seconds) {
  char name[32];
  std::snprintf(name, sizeof name, "%4d x %4ld^2", count, static_cast<long>(side));
  measure_optimizer(name, std::vector<std::vector<int64_t>>(static_cast<size_t>(count), {side, side}),
                    seconds);
}

int run_optimizers(int argc, char** argv) {
  bool smoke = false;
  int threads = 2;
  double seconds = 3;
  std::string device_name = "cpu";
  CLI::App app{"Steps of AdamW: LibTorch's own, its fused op, and compiled"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "for each size");
  app.add_option("--device", device_name, "where the tensors are: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  CLI11_PARSE(app, argc, argv);
  choose_device(device_name);
  at::set_num_threads(threads);
  std::printf("%-12s %11s %11s %11s %10s %10s %11s %11s %10s %11s\n", "step, us", "step()", "fused op",
              "compiled", "to step()", "to fused", "clip, step", "compiled", "ratio", "of a copy");
  if (smoke) return measure_squares(3, 8, 0.01), 0;
  measure_squares(100, 32, seconds);
  measure_squares(20, 512, seconds);
  measure_squares(4, 2048, seconds);
  if (device().is_cuda()) measure_optimizer("gpt", gpt_sizes(), seconds);
  return 0;
}

const NamedProgram kOptimizers("bench_optimizers", run_optimizers);

}  // namespace
}  // namespace antegrad::benchmarks
