// Backward passes by the autograd engine and by compiled autograd, in turns.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>
#include <torch/csrc/autograd/function.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

#include "engine/phases.h"
#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

using at::Tensor;

Tensor weight(at::IntArrayRef sizes) { return (at::randn(sizes) * 0.1).set_requires_grad(true); }

struct Program {
  const char* name;
  std::vector<Tensor> parameters;
  std::function<Tensor()> loss;
};

/// Pointwise ops on little data: nothing but overhead.
Program small_ops(int layers) {
  std::vector<Tensor> scales;
  for (int i = 0; i < layers; ++i) scales.push_back(weight({64}));
  return {"small ops, eager forward", scales, [scales, x = at::randn({8, 64})] {
            auto h = x;
            for (const auto& scale : scales) h = h + (h * scale).tanh() * at::sigmoid(h);
            return h.pow(2).mean();
          }};
}

struct Block {
  Tensor qkv, out, up, down;
};

Tensor run_block(const Block& block, const Tensor& x) {
  const auto width = x.size(-1);
  const auto parts = at::mm(at::layer_norm(x, {width}), block.qkv).chunk(3, 1);
  const auto attention = at::softmax(at::mm(parts[0], parts[1].t()) * 0.1, 1);
  const auto h = x + at::mm(at::mm(attention, parts[2]), block.out);
  return h + at::mm(at::gelu(at::mm(at::layer_norm(h, {width}), block.up)), block.down);
}

/// Blocks of a GPT, each compiled separately, with eager ops between them.
Program regional(int layers, int64_t width) {
  std::vector<Tensor> parameters;
  std::vector<std::function<Tensor(const Tensor&)>> blocks;
  for (int i = 0; i < layers; ++i) {
    const Block block{weight({width, 3 * width}), weight({width, width}), weight({width, 4 * width}),
                      weight({4 * width, width})};
    parameters.insert(parameters.end(), {block.qkv, block.out, block.up, block.down});
    blocks.push_back(compile([block](const Tensor& x) { return run_block(block, x); }));
  }
  return {"GPT blocks compiled one by one", parameters, [blocks, x = at::randn({64, width})] {
            auto h = x;
            for (const auto& block : blocks) h = block(h) * 0.9;
            return h.pow(2).mean();
          }};
}

double backward_us(const Program& program) {
  for (const auto& parameter : program.parameters) parameter.mutable_grad().reset();
  const auto loss = program.loss();
  const auto start = Clock::now();
  loss.backward();
  return nanoseconds_since(start) * 1e-3;
}

void measure(const Program& program, int repeats) {
  const auto captures = compiled_autograd::stats().captures;
  double first_us = 0;
  {
    const CompiledAutograd on;
    first_us = backward_us(program);
  }
  std::vector<double> engine, compiled;
  for (int i = 0; i < repeats; ++i) {
    {
      const CompiledAutograd off(false);
      engine.push_back(backward_us(program));
    }
    const CompiledAutograd on;
    compiled.push_back(backward_us(program));
  }
  std::printf("%-32s %9.0f %9.0f %8.2fx %12.0f %9llu\n", program.name, median(engine), median(compiled),
              median(engine) / median(compiled), first_us,
              static_cast<unsigned long long>(compiled_autograd::stats().captures - captures));
}

/// A chain of ops on one number, for which kernels have next to nothing to do.
Program chain(const char* name, int nodes, Tensor (*op)(const Tensor&)) {
  const auto x = weight({1});
  return {name, {x}, [x, nodes, op] {
            auto h = x;
            for (int i = 0; i < nodes; ++i) h = op(h);
            return h;
          }};
}

double capture_us(const Program& program) {
  ::setenv("ANTEGRAD_BACKEND", "eager", 1);  // captured and planned, but no kernels are compiled
  compiled_autograd::reset();
  const CompiledAutograd on;
  const auto us = backward_us(program);
  ::unsetenv("ANTEGRAD_BACKEND");
  compiled_autograd::reset();
  return us;
}

int count_nodes(const Tensor& loss) {
  std::set<const torch::autograd::Node*> seen;
  std::vector<const torch::autograd::Node*> open{loss.grad_fn().get()};
  while (!open.empty()) {
    const auto* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges()) open.push_back(edge.function.get());
  }
  return static_cast<int>(seen.size());
}

using engine::Phase;
using Parts = std::array<double, static_cast<size_t>(Phase::Count)>;

/// Returns the time of each phase of a pass that was captured before: the minimum, since other processes run
/// too.
Parts parts_us(const Program& program, int repeats) {
  const CompiledAutograd on;
  for (int i = 0; i < 3; ++i) backward_us(program);
  std::array<std::vector<double>, static_cast<size_t>(Phase::Count)> all;
  for (int i = 0; i < repeats; ++i) {
    for (const auto& parameter : program.parameters) parameter.mutable_grad().reset();
    const auto loss = program.loss();
    const engine::PhaseClock clock;
    loss.backward();
    engine::PhaseClock::mark(Phase::Engine);
    for (size_t p = 0; p < all.size(); ++p) all[p].push_back(clock.microseconds(static_cast<Phase>(p)));
  }
  Parts parts{};
  for (size_t p = 0; p < all.size(); ++p) parts[p] = *std::min_element(all[p].begin(), all[p].end());
  return parts;
}

void measure_overhead(const Program& program, int repeats) {
  const double nodes = count_nodes(program.loss());
  const auto capture = capture_us(program);
  const auto parts = parts_us(program, repeats);
  const auto ns = [&](Phase phase) { return parts[static_cast<size_t>(phase)] * 1e3 / nodes; };
  const auto lookup = ns(Phase::Order) + ns(Phase::Key) + ns(Phase::Find);
  std::printf("%-28s %6.0f %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f %9.1f %9.1f %9.1f\n",
              program.name, nodes, ns(Phase::Engine), ns(Phase::Order), ns(Phase::Key), ns(Phase::Find),
              ns(Phase::Lift), ns(Phase::Release), ns(Phase::Run), ns(Phase::Give), lookup,
              lookup * nodes * 1e-3, 20 + 0.2 * nodes, capture / nodes);
}

void measure_overheads(bool smoke) {
  std::printf("\n%-28s %6s %7s %7s %7s %7s %7s %7s %7s %7s %7s %9s %9s %9s\n", "known passes, ns a node",
              "nodes", "engine", "order", "key", "find", "lift", "release", "run", "give", "lookup",
              "lookup,us", "goal,us", "capt.,us");
  const int repeats = smoke ? 2 : 100;
  for (const int nodes : {100, 1000}) {
    const int length = smoke ? 10 : nodes;
    measure_overhead(chain("sin of one number", length, at::sin), repeats);
    measure_overhead(chain("tanh of one number", length, at::tanh), repeats);
  }
  measure_overhead(small_ops(smoke ? 2 : 200), repeats);
}

int run(int argc, char** argv) {
  bool smoke = false;
  bool overhead = false;
  int threads = 2;
  CLI::App app{"Backward passes by the engine and compiled"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_flag("--overhead", overhead, "what passes cost besides their kernels, and nothing else");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  if (overhead) return measure_overheads(smoke), 0;
  const int repeats = smoke ? 2 : 200;
  std::printf("%-32s %9s %9s %9s %12s %9s\n", "backward pass, us", "engine", "compiled", "ratio", "first",
              "captures");
  measure(small_ops(smoke ? 2 : 50), repeats);
  measure(regional(smoke ? 2 : 12, smoke ? 16 : 128), smoke ? 2 : 50);
  measure_overheads(smoke);
  return 0;
}

const NamedProgram kProgram("bench_compiled_autograd", run);

}  // namespace
}  // namespace antegrad::benchmarks
