// bench_regions: a net of equal blocks, each an antegrad::region or not. docs/control-flow.md has its
// numbers.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>
#include <antegrad/control.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

struct Block {
  Tensor gain, bias, up, down;

  /// `number`: is part of all kernels, so that those of another number are not known yet.
  Tensor operator()(const Tensor& x, double number) const {
    const auto normal = at::layer_norm(x, {x.size(-1)}, gain, bias) * number;
    return x * number + at::mm(at::gelu(at::mm(normal, up) * number), down);
  }
};

struct Net {
  std::vector<Block> blocks;
  std::vector<Tensor> parameters;

  Net(int layers, int64_t width) {
    const auto weight = [&](at::IntArrayRef sizes) {
      parameters.push_back((at::randn(sizes) * 0.1).set_requires_grad(true));
      return parameters.back();
    };
    for (int i = 0; i < layers; ++i)
      blocks.push_back(
          {weight({width}), weight({width}), weight({width, 4 * width}), weight({4 * width, width})});
  }
  Tensor loss(const Tensor& x, bool regions, double number) const {
    auto h = x;
    for (const auto& block : blocks) {
      const auto run = [&](const Tensor& x) { return block(x, number); };
      h = regions ? region("block", run, h) : run(h);
    }
    return h.pow(2).mean();
  }
  void step(const auto& compiled, const Tensor& x) const {
    for (const auto& parameter : parameters) parameter.mutable_grad().reset();
    compiled(x).backward();
  }
};

void measure(int layers, int64_t rows, int64_t width, double seconds, int firsts) {
  const Net net(layers, width);
  const auto x = at::randn({rows, width});
  double number = 1;
  const auto make = [&](bool regions) {
    number *= 0.999;
    return compile([&net, regions, number](const Tensor& x) { return net.loss(x, regions, number); });
  };
  net.step(make(true), x);  // loads compilers
  std::vector<double> first[2];
  for (int i = 0; i < firsts; ++i)
    for (const bool regions : {false, true}) {
      const auto compiled = make(regions);
      const auto start = Clock::now();
      net.step(compiled, x);
      first[regions].push_back(nanoseconds_since(start) * 1e-6);
    }
  const auto plain = make(false), with = make(true);
  const auto steps = medians_in_turns({[&] { net.step(plain, x); }, [&] { net.step(with, x); }}, seconds);
  const auto plain_first = median(first[0]), with_first = median(first[1]);
  std::printf("%6d %6lld %6lld %10.0f %10.0f %7.2f %10.3f %10.3f %7.3f\n", layers,
              static_cast<long long>(rows), static_cast<long long>(width), plain_first, with_first,
              with_first / plain_first, steps[0] * 1e-6, steps[1] * 1e-6, steps[1] / steps[0]);
}

int run(int argc, char** argv) {
  bool smoke = false;
  int threads = 2, layers = 48, firsts = 3;
  CLI::App app{"A net of equal blocks with and without regions"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_option("--layers", layers, "blocks")->check(CLI::PositiveNumber);
  app.add_option("--firsts", firsts, "first steps of each kind")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  ::setenv("ANTEGRAD_CACHE", "off", 1);
  at::set_num_threads(threads);
  std::printf("%6s %6s %6s %10s %10s %7s %10s %10s %7s\n", "blocks", "rows", "width", "first, ms", "regions",
              "ratio", "step, ms", "regions", "ratio");
  if (smoke) return measure(3, 4, 8, 0, 1), 0;
  measure(layers, 16, 32, 3, firsts);
  measure(layers, 64, 64, 3, firsts);
  return 0;
}

const NamedProgram kRegions("bench_regions", run);

}  // namespace
}  // namespace antegrad::benchmarks
