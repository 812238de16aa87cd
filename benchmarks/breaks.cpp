// bench_breaks: a loss of 200 ops with two graph breaks, compiled in parts, against eager.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string_view>

#include "main.h"
#include "timing.h"

namespace antegrad::benchmarks {
namespace {

at::Tensor part_of_loss(at::Tensor x, const at::Tensor& w, int ops) {
  for (int i = 0; i < ops / 5; ++i) {
    x = x * w;
    x = x + 0.1;
    x = x.tanh();
    x = x * x;
    x = x - w;
  }
  return x;
}

at::Tensor broken_loss(const at::Tensor& x, const at::Tensor& w) {
  const auto a = part_of_loss(x, w, 65);
  const auto scale = a.abs().mean().item<double>();
  const auto b = part_of_loss(a / (scale + 1), w, 65);
  if (b.sum().item<double>() > 1e9) return b.sum();
  return part_of_loss(b, w, 65).square().mean();
}

/// Returns the shortest time of a call, in microseconds, over blocks of calls.
template <class Call>
double shortest_call(const Call& call, int blocks, int calls) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int block = 0; block < blocks; ++block) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    shortest = std::min(shortest, nanoseconds_since(start) / calls / 1000);
  }
  return shortest;
}

int run_breaks(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  at::set_num_threads(1);
  Options options;
  options.unsupported = Unsupported::Break;
  const auto compiled = compile(broken_loss, options);
  std::printf("%8s %18s %12s %12s %8s\n", "rows", "pass", "eager us", "parts us", "ratio");
  for (const int64_t rows : {2, 16, 64, 256}) {
    if (smoke && rows > 2) break;
    const auto x = torch::randn({rows, 512});
    auto w = torch::randn({512}).requires_grad_();
    for (const bool backward : {false, true}) {
      const auto timed = [&](const auto& loss) {
        const auto call = [&] {
          const auto value = loss(x, w);
          w.mutable_grad() = at::Tensor();
          if (backward) value.backward();
        };
        shortest_call(call, 1, 3);
        return shortest_call(call, smoke ? 1 : 20, smoke ? 1 : 5);
      };
      const auto eager = timed(broken_loss);
      const auto parts = timed(compiled);
      std::printf("%8ld %18s %12.0f %12.0f %7.2fx\n", static_cast<long>(rows),
                  backward ? "forward, backward" : "forward", eager, parts, eager / parts);
    }
  }
  return compiled.report().breaks.size() == 2 ? 0 : 1;
}

const NamedProgram kBreaks("bench_breaks", run_breaks);

}  // namespace
}  // namespace antegrad::benchmarks
