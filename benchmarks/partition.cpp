// How long partitioning joint graphs of transformers takes, by the number of nodes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "../tests/graph/joint_tape.h"
#include "partition/partition.h"

namespace antegrad {
namespace {

constexpr int64_t kTokens = 512, kWidth = 256;

/// A block whose norms and activations are small ops, as decompositions produce them.
ir::ValueId block(JointTape& tape, ir::ValueId x) {
  const auto weight = [&] { return tape.input(kWidth, kWidth, ir::InputRole::Param); };
  const auto norm = [&](ir::ValueId v) {
    const auto centered = tape.add(v, tape.sum_and_expand(v));
    return tape.mul(centered,
                    tape.unary("aten.rsqrt", "aten.exp", tape.sum_and_expand(tape.mul(centered, centered))));
  };
  const auto gelu = [&](ir::ValueId v) {
    const auto cube = tape.mul(tape.mul(v, v), v);
    return tape.mul(v, tape.unary("aten.exp", "aten.exp", tape.tanh(tape.add(v, cube))));
  };
  const auto normed = norm(x);
  const auto query = tape.mm(normed, weight()), key = tape.mm(normed, weight()),
             value = tape.mm(normed, weight());
  const auto scores = tape.dropout(tape.softmax(tape.mm(query, tape.transpose(key))));
  const auto attended = tape.add(x, tape.mm(tape.mm(scores, value), weight()));
  const auto hidden = gelu(tape.mm(norm(attended), weight()));
  return tape.add(attended, tape.dropout(tape.mm(hidden, weight())));
}

ir::Graph transformer(size_t nodes) {
  JointTape tape;
  auto x = tape.input(kTokens, kWidth);
  const size_t blocks = std::max<size_t>(1, nodes / 118);
  for (size_t i = 0; i < blocks; ++i) x = block(tape, x);
  return tape.finish({x});
}

/// Only small ops, each used again much later: long paths through the flow network and no expensive op to cut
/// at.
ir::Graph pointwise(size_t nodes) {
  JointTape tape;
  std::vector<ir::ValueId> values = {tape.input(kTokens, kWidth)};
  while (values.size() < nodes / 5) {
    const auto x = tape.unary("aten.sin", "aten.cos", values.back());
    values.push_back(tape.mul(x, values[values.size() / 2]));
  }
  return tape.finish({values.back()});
}

void split(benchmark::State& state, const ir::Graph& joint, const Policy& policy) {
  for (auto _ : state) benchmark::DoNotOptimize(partition::partition(joint, policy));
  state.counters["nodes"] = static_cast<double>(joint.nodes.size());
  state.counters["time_per_node"] =
      benchmark::Counter(static_cast<double>(joint.nodes.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

size_t nodes(const benchmark::State& state) { return static_cast<size_t>(state.range(0)); }

void partition_min_cut(benchmark::State& state) { split(state, transformer(nodes(state)), MinCut{}); }
void partition_save_all(benchmark::State& state) { split(state, transformer(nodes(state)), SaveAll{}); }
void partition_pointwise(benchmark::State& state) { split(state, pointwise(nodes(state)), MinCut{}); }
void partition_budget(benchmark::State& state) {
  split(state, transformer(nodes(state)), MemoryBudget::fraction(0.3));
}

BENCHMARK(partition_min_cut)
    ->Arg(500)
    ->Arg(1000)
    ->Arg(2000)
    ->Arg(5000)
    ->Arg(10000)
    ->Arg(20000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(partition_pointwise)->Arg(500)->Arg(5000)->Arg(20000)->Unit(benchmark::kMillisecond);
BENCHMARK(partition_save_all)->Arg(5000)->Unit(benchmark::kMillisecond);
BENCHMARK(partition_budget)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace antegrad
