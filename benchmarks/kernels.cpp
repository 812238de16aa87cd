// The performance of single kernels: bandwidth compared with memcpy, the cost of a call compared with its
// arithmetic, and how compile time grows with the graph.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>
#include <c10/core/GradMode.h>
#include <malloc.h>
#include <torch/csrc/autograd/autograd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "compile_times.h"
#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

struct Settings {
  double seconds = 2;
  int threads = 2;
  bool smoke = false;
};

// --- bandwidth

constexpr int64_t kWidth = 1024;

/// Moves data from `from` to `to`, divided among LibTorch's threads.
template <class Move>
void move_in_parallel(const Tensor& from, const Tensor& to, const Move& move) {
  at::parallel_for(0, from.numel(), 1, [&](int64_t begin, int64_t end) {
    move(from.const_data_ptr<float>() + begin, to.mutable_data_ptr<float>() + begin, end - begin);
  });
}
void copy(const float* from, float* to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
/// Like memcpy(), but with ordinary stores, which read a cache line before they write it.
void scale(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] * 2;
}

class BandwidthTable {
 public:
  BandwidthTable(int64_t rows, const Settings& settings)
      : seconds_(settings.seconds), from_(at::randn({rows, kWidth})), to_(at::randn({rows, kWidth})) {
    std::printf("\n%-22s %8s %8s %11s %17s %12s\n", "kernel", "tensors", "GB/s", "memcpy GB/s",
                "share of memcpy's", "eager's share");
  }

  /// `tensors` is the least number of tensors to read or write, each of rows x width floats.
  void row(const char* name, int tensors, const std::function<void()>& compiled,
           const std::function<void()>& eager) const {
    const auto ns =
        medians_in_turns({[&] { move_in_parallel(from_, to_, copy); }, compiled, eager}, seconds_);
    const double bytes = static_cast<double>(from_.nbytes());
    const double memcpy_gbs = 2 * bytes / ns[0], gbs = tensors * bytes / ns[1],
                 eager_gbs = tensors * bytes / ns[2];
    std::printf("%-22s %8d %8.1f %11.1f %16.0f%% %11.0f%%\n", name, tensors, gbs, memcpy_gbs,
                100 * gbs / memcpy_gbs, 100 * eager_gbs / memcpy_gbs);
    std::fflush(stdout);
  }

  /// Measures a function of one such tensor.
  template <class F>
  void forward(const char* name, const F& function) const {
    const at::NoGradGuard no_grad;
    const auto compiled = compile(function);
    row(
        name, 2, [&] { compiled(from_); }, [&] { function(from_); });
  }

  /// Measures the backward pass alone: it reads the gradient and at least one more tensor, and writes one.
  template <class F>
  void backward(const char* name, const F& function, const std::vector<Tensor>& parameters) const {
    const auto x = from_.detach().clone().set_requires_grad(true);
    auto inputs = parameters;
    inputs.push_back(x);
    const auto pass = [&](const Tensor& y) {
      return [&, y] { torch::autograd::grad({y}, inputs, {to_}, /*retain_graph=*/true); };
    };
    row(name, 3, pass(compile(function)(x)), pass(function(x)));
  }

  void plain_loop() const {
    const auto loop = [&] { move_in_parallel(from_, to_, scale); };
    row("plain loop of C++", 2, loop, loop);
  }

 private:
  double seconds_;
  Tensor from_, to_;
};

void print_bandwidths(const Settings& settings) {
  // Otherwise results of this size come from new pages at every call, and page faults dominate the
  // measurement.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const BandwidthTable table(settings.smoke ? 64 : 16384, settings);
  const auto weight = at::rand({kWidth}).set_requires_grad(true),
             bias = at::rand({kWidth}).set_requires_grad(true);
  const auto layer_norm = [&](const Tensor& x) { return at::layer_norm(x, {kWidth}, weight, bias); };
  const auto softmax = [](const Tensor& x) { return at::softmax(x, -1); };
  table.plain_loop();
  table.forward("x * 2 + 1", [](const Tensor& x) { return x * 2 + 1; });
  table.forward("layer norm", layer_norm);
  table.backward("layer norm backward", layer_norm, {weight, bias});
  table.forward("softmax", softmax);
  table.backward("softmax backward", softmax, {});
}

// --- calls

constexpr int kElements = 8, kCallsPerSample = 100;

[[gnu::noinline]] void square(const float* from, float* to) {
  for (int i = 0; i < kElements; ++i) to[i] = from[i] * from[i];
}

void print_calls(const Settings& settings) {
  const auto x = at::randn({kElements}).set_requires_grad(true);
  const auto gradient = at::ones({kElements});
  const auto function = [](const Tensor& t) { return t * t; };
  const auto compiled = compile(function);
  const auto often = [](auto call) {
    return [call] {
      for (int i = 0; i < kCallsPerSample; ++i) call();
    };
  };
  const auto with_backward = [&](const auto& f) {
    return [&] {
      x.mutable_grad().reset();
      f(x).backward(gradient);
    };
  };
  float raw[kElements] = {}, result[kElements];
  void (*volatile raw_kernel)(const float*, float*) = square;
  const auto ns = medians_in_turns(
      {often([&] { raw_kernel(raw, result); }), often([&] { compiled(x); }), often([&] { function(x); }),
       often(with_backward(compiled)), often(with_backward(function))},
      settings.seconds);
  const auto us = [&](size_t i) { return ns[i] / kCallsPerSample / 1000; };
  std::printf("%-22s %10s %13s %20s %10s\n", "x * x of 8, us", "compiled", "raw kernel",
              "over the raw kernel", "eager");
  std::printf("%-22s %10.2f %13.4f %20.2f %10.2f\n", "with a history", us(1), us(0), us(1) - us(0), us(2));
  std::printf("%-22s %10.2f %13.4f %20.2f %10.2f\n", "and its backward()", us(3), 2 * us(0),
              us(3) - 2 * us(0), us(4));
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Bandwidth of single kernels, cost of calls, growth of the time to compile"};
  app.add_option("--seconds", settings.seconds, "per row");
  app.add_option("--threads", settings.threads, "of LibTorch, for the bandwidths")
      ->check(CLI::PositiveNumber);
  app.add_flag("--smoke", settings.smoke, "little data and few calls: whether it runs, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) settings.seconds = 0;
  at::set_num_threads(settings.threads);
  print_calls(settings);
  print_bandwidths(settings);
  print_compile_times(settings.smoke);
  return 0;
}

const NamedProgram kProgram("bench_kernels", run);

}  // namespace
}  // namespace antegrad::benchmarks
