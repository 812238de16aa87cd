// The cost of a function's first call, stage by stage, per recorded op. It must not grow with the size of the
// graph.
#include "capture/capture.h"

#include <antegrad/antegrad.h>
#include <c10/core/GradMode.h>

#include <ctime>

#include "aot/functionalize.h"
#include "passes/pipelines.h"
#include "programs.h"
#include "runtime/executable.h"
#include "side_by_side.h"

namespace antegrad::benchmarks {
namespace {

/// Returns the CPU time of this thread, which unlike wall time excludes what other programs use.
double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Times `timed` on the results of `prepare`, and reports the medians per op.
void per_op(benchmark::State& state, size_t ops, auto&& prepare, auto&& timed) {
  std::vector<double> wall, cpu;
  for (auto _ : state) {
    auto subject = prepare();
    const auto cpu_start = thread_nanoseconds();
    const auto start = Clock::now();
    auto result = timed(subject);
    wall.push_back(nanoseconds_since(start));
    cpu.push_back(thread_nanoseconds() - cpu_start);
    benchmark::DoNotOptimize(result);
    state.SetIterationTime(wall.back() * 1e-9);
  }
  state.counters["ops"] = static_cast<double>(ops);
  state.counters["us_per_op"] = median(wall) / 1000 / static_cast<double>(ops);
  state.counters["cpu_us_per_op"] = median(cpu) / 1000 / static_cast<double>(ops);
}

capture::Trace trace_of(const MixedProgram& program, const std::vector<at::Tensor>& inputs) {
  return capture::capture([&](const std::vector<at::Tensor>& fakes) { return program(fakes); }, inputs);
}

void capture_only(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const MixedProgram program(state.range(0));
  const std::vector<at::Tensor> inputs{MixedProgram::example_input()};
  const auto ops = trace_of(program, inputs).graph.nodes.size();
  per_op(
      state, ops, [] { return 0; }, [&](int) { return trace_of(program, inputs); });
}

void functionalize(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const auto trace = trace_of(MixedProgram(state.range(0)), {MixedProgram::example_input()});
  per_op(
      state, trace.graph.nodes.size(), [] { return 0; }, [&](int) { return aot::functionalize(trace); });
}

/// A written input raises the question which inputs share its memory, as when a step updates its weights.
void functionalize_written(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const MixedProgram program(state.range(0));
  const auto trace = capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        fakes[0].add_(1);
        return program(fakes);
      },
      {MixedProgram::example_input()});
  per_op(
      state, trace.graph.nodes.size(), [] { return 0; }, [&](int) { return aot::functionalize(trace); });
}

void passes_only(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const auto trace = trace_of(MixedProgram(state.range(0)), {MixedProgram::example_input()});
  const auto functional = aot::functionalize(trace);
  per_op(
      state, trace.graph.nodes.size(), [&] { return functional.graph; },
      [](ir::Graph& graph) { return passes::run_pipeline(graph, passes::passes_of("functional"), {}); });
}

void build_executable(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const auto trace = trace_of(MixedProgram(state.range(0)), {MixedProgram::example_input()});
  auto functional = aot::functionalize(trace);
  passes::run_pipeline(functional.graph, passes::passes_of("functional"), {});
  per_op(
      state, trace.graph.nodes.size(), [] { return 0; },
      [&](int) { return std::make_unique<runtime::Executable>(functional.graph); });
}

/// Runs all stages and the first call, through the public API.
void first_call(benchmark::State& state) {
  at::NoGradGuard no_grad;
  const MixedProgram program(state.range(0));
  const auto x = MixedProgram::example_input();
  const auto ops = trace_of(program, {x}).graph.nodes.size();
  auto fresh = [&] { return compile([&](const at::Tensor& t) { return program(t); }); };
  per_op(state, ops, fresh, [&](auto& compiled) { return compiled(x); });
}

void graph_sizes(benchmark::internal::Benchmark* benchmark) {
  for (int64_t ops : {100, 300, 1000, 3000, 10000}) benchmark->Arg(ops);
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(capture_only)->Apply(graph_sizes);
BENCHMARK(functionalize)->Apply(graph_sizes);
BENCHMARK(functionalize_written)->Apply(graph_sizes);
BENCHMARK(passes_only)->Apply(graph_sizes);
BENCHMARK(build_executable)->Apply(graph_sizes);
BENCHMARK(first_call)->Apply(graph_sizes);

}  // namespace
}  // namespace antegrad::benchmarks
