#pragma once
#include <benchmark/benchmark.h>

#include <vector>

#include "timing.h"

namespace antegrad::benchmarks {

/// Times eager and compiled calls in turns, in short blocks, so that both run under the same clock rate and
/// load. The overhead is the median of the differences of neighbouring blocks, which one interrupted block
/// does not affect. For benchmarks registered with UseManualTime(): the time shown is that of a compiled
/// call.
template <class Eager, class Compiled>
void side_by_side(benchmark::State& state, Eager&& eager, Compiled&& compiled, int calls_per_block = 32) {
  auto block = [&](auto&& call) {
    const auto start = Clock::now();
    for (int i = 0; i < calls_per_block; ++i) benchmark::DoNotOptimize(call());
    return nanoseconds_since(start) / calls_per_block;
  };
  block(eager);
  block(compiled);  // captures
  std::vector<double> eager_ns, compiled_ns, overhead_ns;
  bool eager_first = false;
  for (auto _ : state) {
    eager_first = !eager_first;
    double e = eager_first ? block(eager) : 0;
    const double c = block(compiled);
    if (!eager_first) e = block(eager);
    eager_ns.push_back(e);
    compiled_ns.push_back(c);
    overhead_ns.push_back(c - e);
    state.SetIterationTime(c * 1e-9);
  }
  state.counters["eager_ns"] = median(eager_ns);
  state.counters["compiled_ns"] = median(compiled_ns);
  state.counters["overhead_ns"] = median(overhead_ns);
  state.counters["ratio_to_eager"] = median(compiled_ns) / median(eager_ns);
}

}  // namespace antegrad::benchmarks
