// Changing sizes: a version with symbolic sizes compared with one of fixed sizes at the same sizes; the cost
// of a new size; the time to find one of many versions; a potential with a thousand different numbers of
// pairs; ten thousand small graphs, each of another size; a step with a number that is new in each call.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <torch/csrc/autograd/autograd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>

#include "main.h"
#include "timing.h"
#include "training_step.h"

namespace antegrad::benchmarks {
namespace {

struct Settings {
  double seconds = 4;
  int threads = 2;
  bool smoke = false;
  Scale scale() const { return smoke ? Scale::Small : Scale::Full; }
};

/// Identifies the size of a workload's inputs that changes.
struct Changing {
  const char* workload;
  size_t first_input;
  int64_t dim;
};
constexpr Changing kChanging[] = {
    {"small", 0, 0}, {"mlp", 0, 0}, {"pot", 1, 1}, {"mem", 0, 0}, {"gpt", 0, 1}};

Workload with_size(const Workload& workload, const Changing& changing, int64_t size) {
  auto out = workload;
  for (size_t i = changing.first_input; i < out.inputs.size(); ++i)
    out.inputs[i] = workload.inputs[i].narrow(changing.dim, 0, size).clone();
  return out;
}

int64_t full_size(const Workload& workload, const Changing& changing) {
  return workload.inputs[changing.first_input].size(changing.dim);
}

double milliseconds(const std::function<void()>& f) {
  const auto start = Clock::now();
  f();
  return nanoseconds_since(start) / 1e6;
}

void compare(const Changing& changing, const Settings& settings) {
  const auto workload = make_workload(changing.workload, settings.scale());
  const auto size = full_size(workload, changing);
  Options fixed_options;
  fixed_options.dynamic = Dynamic::None;
  const auto fixed = compile_loss(workload, fixed_options);
  Options marked;
  for (size_t i = changing.first_input; i < workload.inputs.size(); ++i)
    marked.dynamic_sizes.push_back(
        dynamic(static_cast<int>(workload.parameters.size() + i), static_cast<int>(changing.dim)));
  const auto symbolic = compile_loss(workload, marked);
  const auto first_fixed = milliseconds([&] { step(workload, fixed); });
  const auto smaller = with_size(workload, changing, size * 3 / 4);
  const auto first_symbolic = milliseconds([&] { step(smaller, symbolic); });
  const auto new_size = milliseconds([&] { step(workload, symbolic); });
  const auto times =
      medians_in_turns({[&] { step(workload, fixed); }, [&] { step(workload, symbolic); }}, settings.seconds);
  std::printf("%-10s %12.1f %12.1f %7.2fx %12.3f %12.3f %8.3f %12.3f %9d\n", changing.workload, first_fixed,
              first_symbolic, first_symbolic / first_fixed, times[0] / 1e6, times[1] / 1e6,
              times[1] / times[0], new_size, static_cast<int>(symbolic.report().captures));
  std::fflush(stdout);
}

void compare_all(const Settings& settings) {
  compile([](const at::Tensor& x) { return x.cos() + 1; })(at::randn({3}));  // loads clang
  std::printf("%-10s %12s %12s %8s %12s %12s %8s %12s %9s\n", "workload", "first, ms", "symbolic, ms",
              "ratio", "step, ms", "symbolic, ms", "ratio", "new size, ms", "compiled");
  for (const auto& changing : kChanging) compare(changing, settings);
}

void find_versions(const Settings& settings) {
  const c10::NoGradGuard no_grad;
  Options options;
  options.backend = Backend::Eager;
  options.max_versions = 32;
  enum class Kind : int64_t {};  // each has a version of its own
  const auto one = compile([](const at::Tensor& x, Kind) { return x + 1; }, options);
  const auto ten = compile([](const at::Tensor& x, Kind) { return x + 1; }, options);
  const auto x = at::randn({8});
  const auto y = at::randn({9});
  for (int64_t i = 0; i < 10; ++i) {
    ten(x, Kind(i));
    ten(y, Kind(i));
  }
  one(x, Kind(0));
  one(y, Kind(0));
  constexpr int kCalls = 1000;
  const auto many = [&](const auto& f) {
    return [&] {
      for (int i = 0; i < kCalls; ++i) f(y, Kind(0));
    };
  };
  const auto times = medians_in_turns({many(one), many(ten)}, settings.seconds / 4);
  std::printf(
      "\ncall with 1 version over symbols: %.3f us, with 10 (and 10 of fixed sizes), the oldest: %.3f us\n",
      times[0] / kCalls / 1e3, times[1] / kCalls / 1e3);
}

void many_counts(const Settings& settings) {
  const Changing changing = kChanging[2];
  const auto workload = make_workload("pot", settings.scale());
  const auto most = full_size(workload, changing);
  const int64_t counts = settings.smoke ? 20 : 1000;
  const auto compiled = compile_loss(workload);
  std::vector<Workload> all;
  for (int64_t i = 0; i < counts; ++i)
    all.push_back(with_size(workload, changing, most - i * 7 % (most / 2)));
  const auto run = [&](const auto& loss) {
    return milliseconds([&] {
      for (const auto& one : all) step(one, loss);
    });
  };
  const auto first = run(compiled), again = run(compiled), eager = run(workload.loss);
  std::printf(
      "\npot over %d numbers of pairs: %d compilations; eager %.0f ms, the first time %.0f ms (%.2fx), "
      "again %.0f ms (%.2fx)\n",
      static_cast<int>(counts), static_cast<int>(compiled.report().captures), eager, first, eager / first,
      again, eager / again);
}

/// A graph network of one layer on a small graph.
struct SmallGraph {
  at::Tensor nodes, from, to, weights, target;
};
struct GraphNet {
  at::Tensor message = weight({33, 16}), update = weight({32, 16}), readout = weight({16, 1});
  std::vector<at::Tensor> parameters() const { return {message, update, readout}; }
  static at::Tensor weight(at::IntArrayRef sizes) { return (at::randn(sizes) * 0.2).set_requires_grad(true); }
  at::Tensor loss(const at::Tensor& nodes, const at::Tensor& from, const at::Tensor& to,
                  const at::Tensor& weights, const at::Tensor& target) const {
    const auto ends = at::cat({nodes.index_select(0, from), nodes.index_select(0, to), weights}, 1);
    const auto sums = at::zeros_like(nodes).index_add(0, to, at::silu(ends.mm(message)));
    const auto updated = at::silu(at::cat({nodes, sums}, 1).mm(update));
    return at::mse_loss(updated.mm(readout).mean(), target);
  }
};

/// Graphs of different numbers have different sizes.
SmallGraph make_graph(int64_t number) {
  const auto nodes = 10 + number / 435, edges = 30 + number % 435;
  return {at::randn({nodes, 16}), at::randint(nodes, {edges}), at::randint(nodes, {edges}),
          at::rand({edges, 1}), at::randn({})};
}

void many_sizes(const Settings& settings) {
  const GraphNet net;
  const auto parameters = net.parameters();
  const auto body = [&](const at::Tensor& nodes, const at::Tensor& from, const at::Tensor& to,
                        const at::Tensor& weights,
                        const at::Tensor& target) { return net.loss(nodes, from, to, weights, target); };
  Options options;
  options.max_sizes = 20000;
  const auto compiled = compile(body, options);
  const int64_t count = settings.smoke ? 20 : 10000;
  constexpr int64_t kCompiledWith = 8;  // not timed
  std::vector<SmallGraph> graphs;
  for (int64_t i = 0; i < count; ++i) graphs.push_back(make_graph(i + kCompiledWith));
  const auto run = [&](const auto& loss) {
    return milliseconds([&] {
      for (const auto& [nodes, from, to, weights, target] : graphs)
        torch::autograd::grad({loss(nodes, from, to, weights, target)}, parameters);
    });
  };
  for (int64_t i = 0; i < kCompiledWith; ++i) {
    const auto [nodes, from, to, weights, target] = make_graph(i);
    torch::autograd::grad({compiled(nodes, from, to, weights, target)}, parameters);
  }
  run(body);
  const auto first = run(compiled), again = run(compiled), third = run(compiled), eager = run(body);
  std::printf(
      "\nsmall graphs of %d sizes: %d compilations; eager %.0f ms, the first time %.0f ms (%.2fx), the "
      "second "
      "%.0f ms (%.2fx), the third %.0f ms (%.2fx)\n",
      static_cast<int>(count), static_cast<int>(compiled.report().captures), eager, first, eager / first,
      again, eager / again, third, eager / third);
}

/// A training step with a number that is new in each call.
void many_numbers(const Settings& settings) {
  const auto workload = make_workload("mlp", settings.scale());
  const auto scaled = [&](const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& inputs,
                          double rate) {
    return workload.loss(parameters, inputs) * std::exp(-rate) + rate * parameters[0].pow(2).sum();
  };
  const auto compiled = compile(scaled);
  const int count = settings.smoke ? 20 : 1000;
  const auto run = [&](const auto& loss) {
    return milliseconds([&] {
      for (int i = 0; i < count; ++i)
        torch::autograd::grad({loss(workload.parameters, workload.inputs, 1e-3 * i)}, workload.parameters);
    });
  };
  const auto first = run(compiled), again = run(compiled), eager = run(scaled);
  std::printf(
      "\nmlp with %d numbers: %d compilations; eager %.0f ms, the first time %.0f ms (%.2fx), again %.0f ms "
      "(%.2fx)\n",
      count, static_cast<int>(compiled.report().captures), eager, first, eager / first, again, eager / again);
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Sizes that change, beside fixed ones"};
  app.add_option("--seconds", settings.seconds, "how long the steps of a workload are timed");
  app.add_option("--threads", settings.threads, "of LibTorch")->check(CLI::PositiveNumber);
  app.add_flag("--smoke", settings.smoke, "little data and few steps: whether it runs, not how fast");
  CLI11_PARSE(app, argc, argv);
  if (settings.smoke) settings.seconds = 0;
  at::set_num_threads(settings.threads);
  compare_all(settings);
  find_versions(settings);
  many_counts(settings);
  many_sizes(settings);
  many_numbers(settings);
  return 0;
}

const NamedProgram kProgram("bench_dynamic", run);

}  // namespace
}  // namespace antegrad::benchmarks
