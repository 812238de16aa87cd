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
#include "device.h"
#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

struct Settings {
  double seconds = 2;
  int threads = 2;
  bool smoke = false;
  std::string device = "cpu";
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

/// Kernels over tensors of `rows` x kWidth numbers, in turns with a copy of such a tensor.
class BandwidthTable {
 public:
  BandwidthTable(int64_t rows, at::ScalarType type, const Settings& settings)
      : seconds_(settings.seconds),
        from_(at::randn({rows, kWidth}, at::device(device()).dtype(type))),
        to_(at::randn_like(from_)) {
    std::printf("\n%-26s %8s %8s %11s %17s %12s\n", c10::str("kernel, ", c10::toString(type)).c_str(),
                "tensors", "GB/s", "a copy GB/s", "share of a copy's", "eager's share");
  }

  /// `tensors` is the least number of tensors to read or write, each of rows x width numbers.
  void row(const char* name, int tensors, const std::function<void()>& compiled,
           const std::function<void()>& eager) const {
    const auto ns =
        medians_in_turns({sampled([&] { copy_once(); }), sampled(compiled), sampled(eager)}, seconds_);
    const double bytes = static_cast<double>(from_.nbytes()) * calls();
    const double copy_gbs = 2 * bytes / ns[0], gbs = tensors * bytes / ns[1],
                 eager_gbs = tensors * bytes / ns[2];
    std::printf("%-26s %8d %8.1f %11.1f %16.0f%% %11.0f%%\n", name, tensors, gbs, copy_gbs,
                100 * gbs / copy_gbs, 100 * eager_gbs / copy_gbs);
    std::fflush(stdout);
  }

  /// Measures a function of such tensors: of the first, or of both.
  template <class F>
  void forward(const char* name, int tensors, const F& function) const {
    const at::NoGradGuard no_grad;
    const auto compiled = compile(function);
    if constexpr (std::is_invocable_v<F, Tensor, Tensor>)
      row(
          name, tensors, [&] { compiled(from_, to_); }, [&] { function(from_, to_); });
    else
      row(
          name, tensors, [&] { compiled(from_); }, [&] { function(from_); });
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
  /// A CUDA device gets several calls before it is waited for.
  int calls() const { return from_.is_cuda() ? 8 : 1; }
  std::function<void()> sampled(std::function<void()> call) const {
    return [this, call = std::move(call)] {
      for (int i = 0; i < calls(); ++i) call();
      synchronize();
    };
  }
  void copy_once() const {
    const at::NoGradGuard no_grad;
    if (from_.is_cuda()) return static_cast<void>(to_.copy_(from_));
    move_in_parallel(from_, to_, copy);
  }

  double seconds_;
  Tensor from_, to_;
};

const auto kSoftmax = [](const Tensor& x) { return at::softmax(x, -1); };

/// A layer norm with parameters of its own.
struct LayerNorm {
  explicit LayerNorm(const at::TensorOptions& options)
      : weight(at::rand({kWidth}, options).set_requires_grad(true)),
        bias(at::rand({kWidth}, options).set_requires_grad(true)) {}
  Tensor operator()(const Tensor& x) const { return at::layer_norm(x, {kWidth}, weight, bias); }
  Tensor weight, bias;
};

void print_bandwidths(const Settings& settings) {
  // Otherwise results of this size come from new pages at every call, and page faults dominate the
  // measurement.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const BandwidthTable table(settings.smoke ? 64 : 16384, at::kFloat, settings);
  const LayerNorm layer_norm(at::kFloat);
  table.plain_loop();
  table.forward("x * 2 + 1", 2, [](const Tensor& x) { return x * 2 + 1; });
  table.forward("layer norm", 2, layer_norm);
  table.backward("layer norm backward", layer_norm, {layer_norm.weight, layer_norm.bias});
  table.forward("softmax", 2, kSoftmax);
  table.backward("softmax backward", kSoftmax, {});
}

/// One row per mapping of kernels to threads.
void print_cuda_bandwidths(const Settings& settings, at::ScalarType type) {
  const auto options = at::device(device()).dtype(type);
  const BandwidthTable table(settings.smoke ? 64 : 1 << 17, type, settings);
  const LayerNorm layer_norm(options);
  const auto rows = at::randperm(settings.smoke ? 64 : 1 << 17, options.dtype(at::kLong));
  table.forward("x * 2 + 1", 2, [](const Tensor& x) { return x * 2 + 1; });
  table.forward("gelu(x) * y", 3, [](const Tensor& x, const Tensor& y) { return at::gelu(x) * y; });
  table.forward("layer norm", 2, layer_norm);
  table.backward("layer norm backward", layer_norm, {layer_norm.weight, layer_norm.bias});
  table.forward("softmax", 2, kSoftmax);
  table.backward("softmax backward", kSoftmax, {});
  table.forward("dropout", 2, [](const Tensor& x) { return at::dropout(x, 0.1, true); });
  table.forward("sum of columns", 1, [](const Tensor& x) { return x.sum(0); });
  table.forward("sum of all", 1, [](const Tensor& x) { return x.sum(); });
  table.forward("rows by index", 2, [&](const Tensor& x) { return x.index_select(0, rows) * 2; });
  table.forward("x.t() * 2, row-major", 2, [](const Tensor& x) { return (x.t() * 2).contiguous() + 1; });
}

/// The time that the caller spends for a kernel, in a chain of kernels that are too large to be joined.
void print_launches(const Settings& settings) {
  constexpr int kKernels = 200;
  const at::NoGradGuard no_grad;
  const auto x = at::randn({1 << 18}, at::device(device()));
  const auto function = [](Tensor y) {
    for (int i = 0; i < kKernels; ++i) y = y.sin();
    return y;
  };
  const auto compiled = compile(function, {.backend = Backend::NoFuse});
  const auto ns = medians_in_turns(
      {[&] { compiled(x); }, [] { synchronize(); }, [&] { function(x); }, [] { synchronize(); }},
      settings.seconds);
  std::printf("\nlaunch of a kernel, us: %.2f compiled, %.2f eager\n", ns[0] / kKernels / 1000,
              ns[2] / kKernels / 1000);
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
  app.add_option("--device", settings.device, "cpu, or cuda for bandwidths and launches there")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--smoke", settings.smoke, "little data and few calls: whether it runs, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) settings.seconds = 0;
  at::set_num_threads(settings.threads);
  choose_device(settings.device);
  if (device().is_cuda()) {
    print_launches(settings);
    for (const auto type : {at::kFloat, at::kBFloat16}) print_cuda_bandwidths(settings, type);
    return 0;
  }
  print_calls(settings);
  print_bandwidths(settings);
  print_compile_times(settings.smoke);
  return 0;
}

const NamedProgram kProgram("bench_kernels", run);

}  // namespace
}  // namespace antegrad::benchmarks
