// bench_freezing: forward passes of functions that are frozen (Options::freeze), not frozen, and eager.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;
using Forward = std::function<Tensor(const Tensor&)>;

struct Net {
  std::string name;
  Tensor input;
  Forward forward;
};

/// Convolutions with batch norms by running statistics, each followed by a ReLU.
Net convolutions(int64_t batch, int64_t channels, int64_t side, int layers) {
  std::vector<std::vector<Tensor>> weights;
  for (int i = 0; i < layers; ++i)
    weights.push_back({at::randn({channels, channels, 3, 3}) * 0.05, at::rand({channels}) + 0.5,
                       at::randn({channels}), at::randn({channels}), at::rand({channels}) + 0.5});
  return {"conv+bn, batch " + std::to_string(batch), at::randn({batch, channels, side, side}),
          [weights](const Tensor& x) {
            auto h = x;
            for (const auto& w : weights)
              h = at::relu(at::batch_norm(at::conv2d(h, w[0], {}, 1, 1), w[1], w[2], w[3], w[4], false, 0.1,
                                          1e-5, true));
            return h;
          }};
}

/// Layers whose f32 weights are cast to bf16 in each call, as under autocast.
Net narrow(int64_t rows, int64_t width, int layers) {
  std::vector<Tensor> weights;
  for (int i = 0; i < layers; ++i) weights.push_back(at::randn({width, width}) * 0.05);
  return {"casts to bf16", at::randn({rows, width}, at::kBFloat16), [weights](const Tensor& x) {
            auto h = x;
            for (const auto& w : weights) h = at::relu(at::linear(h, w.to(at::kBFloat16)));
            return h;
          }};
}

/// Layers with normalized weights: a direction and a length per row.
Net weight_norm(int64_t rows, int64_t width, int layers) {
  std::vector<std::pair<Tensor, Tensor>> weights;
  for (int i = 0; i < layers; ++i)
    weights.emplace_back(at::randn({width, width}), at::rand({width, 1}) + 0.5);
  return {"weight norm", at::randn({rows, width}), [weights](const Tensor& x) {
            auto h = x;
            for (const auto& [v, g] : weights)
              h = at::relu(at::linear(h, v * (g / v.square().sum({1}, true).sqrt())));
            return h;
          }};
}

void measure(const Net& net, double seconds) {
  const at::NoGradGuard no_grad;
  Options options;
  const auto plain = compile(net.forward, options);
  options.freeze = true;
  const auto frozen = compile(net.forward, options);
  const auto& x = net.input;
  const auto times =
      medians_in_turns({[&] { net.forward(x); }, [&] { plain(x); }, [&] { frozen(x); }}, seconds);
  const auto report = frozen.report();
  std::printf("%-18s %10.3f %10.3f %10.3f %12.2fx %12.2fx %8.2f\n", net.name.c_str(), times[0] * 1e-6,
              times[1] * 1e-6, times[2] * 1e-6, times[0] / times[2], times[1] / times[2],
              static_cast<double>(report.frozen_bytes) / (1 << 20));
}

int run(int argc, char** argv) {
  bool smoke = false;
  int threads = 2;
  double seconds = 2;
  CLI::App app{"Forward passes, frozen and not"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "how long each net is timed");
  CLI11_PARSE(app, argc, argv);
  ::setenv("ANTEGRAD_CACHE", "off", 1);
  at::set_num_threads(threads);
  std::printf("%-18s %10s %10s %10s %13s %13s %8s\n", "net", "eager, ms", "plain, ms", "frozen, ms",
              "eager/frozen", "plain/frozen", "MiB");
  const int64_t size = smoke ? 8 : 512, side = smoke ? 4 : 28;
  if (smoke) seconds = 0;
  measure(convolutions(1, smoke ? 4 : 64, side, 4), seconds);
  measure(convolutions(8, smoke ? 4 : 64, side, 4), seconds);
  measure(narrow(8, size, 4), seconds);
  measure(weight_norm(8, size, 4), seconds);
  return 0;
}

const NamedProgram kFreezing("bench_freezing", run);

}  // namespace
}  // namespace antegrad::benchmarks
