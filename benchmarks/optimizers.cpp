// Steps of AdamW: LibTorch's own, its fused op, and compiled, in turns.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <antegrad/optim.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <vector>

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
      steps.push_back(at::zeros({}));
    }
  }
  void step() {
    const at::NoGradGuard no_grad;
    for (auto& count : steps) count.add_(1);
    at::_fused_adamw_(parameters, gradients, means, squares, largest, steps, 1e-3, 0.9, 0.999, 1e-2, 1e-8,
                      /*amsgrad=*/false, /*maximize=*/false);
  }
};

void measure_optimizer(int count, int64_t side, double seconds) {
  std::vector<Tensor> parameters;
  for (int i = 0; i < count; ++i) {
    parameters.push_back(torch::randn({side, side}).requires_grad_());
    parameters.back().mutable_grad() = torch::randn({side, side});
  }
  torch::optim::AdamW optimizer(parameters, torch::optim::AdamWOptions(1e-3));
  FusedState fused(parameters);
  StepOptions clipping;
  clipping.clip_norm = 1e9;
  const auto step = compiled_step(optimizer), clipped = compiled_step(optimizer, clipping);
  const auto elements = static_cast<double>(count * side * side);
  auto from = torch::randn({static_cast<int64_t>(elements)}), to = torch::empty_like(from);
  const auto ns = medians_in_turns({[&] { optimizer.step(); }, [&] { fused.step(); }, [&] { step(); },
                                    [&] {
                                      torch::nn::utils::clip_grad_norm_(parameters, 1e9);
                                      optimizer.step();
                                    },
                                    [&] { clipped(); }, [&] { to.copy_(from); }},
                                   seconds);
  const double bandwidth = 28 * elements / ns[2], of_copy = 8 * elements / ns[5];
  std::printf("%4d x %4ld^2 %11.0f %11.0f %11.0f %9.2fx %9.2fx %11.0f %11.0f %9.2fx %10.0f%%\n", count,
              static_cast<long>(side), ns[0] * 1e-3, ns[1] * 1e-3, ns[2] * 1e-3, ns[0] / ns[2], ns[1] / ns[2],
              ns[3] * 1e-3, ns[4] * 1e-3, ns[3] / ns[4], 100 * bandwidth / of_copy);
}

int run_optimizers(int argc, char** argv) {
  bool smoke = false;
  int threads = 2;
  double seconds = 3;
  CLI::App app{"Steps of AdamW: LibTorch's own, its fused op, and compiled"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "for each size");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  std::printf("%-12s %11s %11s %11s %10s %10s %11s %11s %10s %11s\n", "step, us", "step()", "fused op",
              "compiled", "to step()", "to fused", "clip, step", "compiled", "ratio", "of a copy");
  if (smoke) return measure_optimizer(3, 8, 0.01), 0;
  measure_optimizer(100, 32, seconds);
  measure_optimizer(20, 512, seconds);
  measure_optimizer(4, 2048, seconds);
  return 0;
}

const NamedProgram kOptimizers("bench_optimizers", run_optimizers);

}  // namespace
}  // namespace antegrad::benchmarks
