// Backward passes by the engine and compiled when they run, side by side, in turns.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

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

/// Blocks of a GPT, each compiled by itself; eager ops between them.
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

/// What a pass costs per node besides its kernels: a chain of ops on one number.
void measure_overhead(int nodes, int repeats) {
  const auto x = weight({1});
  const Program chain{"", {x}, [x, nodes] {
                        auto h = x;
                        for (int i = 0; i < nodes; ++i) h = h.sin();
                        return h;
                      }};
  ::setenv("ANTEGRAD_BACKEND", "eager", 1);  // no kernels: captured and planned, not compiled
  compiled_autograd::reset();
  double capture_us = 0;
  {
    const CompiledAutograd on;
    capture_us = backward_us(chain);
  }
  ::unsetenv("ANTEGRAD_BACKEND");
  compiled_autograd::reset();
  const CompiledAutograd on;
  backward_us(chain);
  std::vector<double> compiled;
  for (int i = 0; i < repeats; ++i) compiled.push_back(backward_us(chain));
  std::printf(
      "\nchain of %d ops on one number: compiled pass %.2f us a node, capture and plan %.1f us a node\n",
      nodes, median(compiled) / nodes, capture_us / nodes);
}

}  // namespace

int run(int argc, char** argv) {
  bool smoke = false;
  int threads = 2;
  CLI::App app{"Backward passes by the engine and compiled"};
  app.add_flag("--smoke", smoke, "whether it runs, not how fast");
  app.add_option("--threads", threads, "of LibTorch")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(threads);
  const int repeats = smoke ? 2 : 200;
  std::printf("%-32s %9s %9s %9s %12s %9s\n", "backward pass, us", "engine", "compiled", "ratio", "first",
              "captures");
  measure(small_ops(smoke ? 2 : 50), repeats);
  measure(regional(smoke ? 2 : 12, smoke ? 16 : 128), smoke ? 2 : 50);
  for (const int nodes : {100, 1000}) measure_overhead(smoke ? 10 : nodes, smoke ? 2 : 50);
  return 0;
}

}  // namespace antegrad::benchmarks
