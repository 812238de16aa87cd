#include "compile_times.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <antegrad/antegrad.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/cache/kernel_cache.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

constexpr int64_t kRows = 32, kWidth = 64;

enum class Layers { Alike, Different };

/// Returns a number that no earlier kernel contains: a process compiles equal kernels once.
double new_number() {
  static int count = 0;
  return 1 + 1e-4 * ++count;
}

class Chain {
 public:
  Chain(int64_t layers, Layers kind) {
    const double shared = new_number();
    for (int64_t i = 0; i < layers; ++i) {
      factors_.push_back(kind == Layers::Alike ? shared : new_number());
      weights_.push_back((at::randn({kWidth, kWidth}) * 0.1).set_requires_grad(true));
    }
  }

  at::Tensor operator()(const at::Tensor& input) const {
    auto x = input;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const auto normed = at::layer_norm(at::mm(x, weights_[i]), {kWidth});
      x = x + at::silu(normed) * factors_[i];
    }
    return x.pow(2).mean();
  }

 private:
  std::vector<at::Tensor> weights_;
  std::vector<double> factors_;
};

struct Measured {
  size_t nodes = 0;
  size_t groups = 0;    ///< fusion groups, in both passes
  size_t compiled = 0;  ///< kernels; equal groups share one
  double ms = 0;
};

size_t lines_starting_with(const std::string& start, const std::string& text) {
  std::istringstream lines(text);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with(start) ? 1 : 0;
  return count;
}

Measured measure(int64_t layers, Layers kind) {
  const Chain chain(layers, kind);
  const auto x = at::randn({kRows, kWidth});
  const auto compiled_before = compiler::kernel_counts().compiled;
  const auto compiled = compile(chain);
  const auto start = Clock::now();
  compiled(x).backward();
  Measured out;
  out.ms = nanoseconds_since(start) * 1e-6;
  out.compiled = compiler::kernel_counts().compiled - compiled_before;
  out.nodes = compiled.report().nodes;
  out.groups = lines_starting_with("kernel ", compiled.explain(x).decisions);
  return out;
}

}  // namespace

void print_compile_times(bool smoke) {
  measure(1, Layers::Alike);  // loads the compiler
  const auto few = measure(2, Layers::Alike).nodes, more = measure(4, Layers::Alike).nodes;
  const auto nodes_per_layer = (more - few) / 2;
  std::printf("\n%-22s %8s %8s %9s %9s %9s %10s\n", "first step of a chain", "nodes", "groups", "compiled",
              "ms", "us/node", "ms/group");
  for (const auto kind : {Layers::Alike, Layers::Different})
    for (const size_t nodes : {100, 500, 1000, 5000}) {
      if (smoke && nodes > 100) continue;
      const auto layers = static_cast<int64_t>(std::max<size_t>(1, nodes / nodes_per_layer));
      const auto row = measure(layers, kind);
      std::printf("%-22s %8zu %8zu %9zu %9.1f %9.1f %10.3f\n",
                  kind == Layers::Alike ? "layers alike" : "layers that differ", row.nodes, row.groups,
                  row.compiled, row.ms, row.ms * 1e3 / static_cast<double>(row.nodes),
                  row.ms / static_cast<double>(row.groups));
      std::fflush(stdout);
    }
}

}  // namespace antegrad::benchmarks
