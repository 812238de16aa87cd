#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/elapsed.h"
#include "cli/files.h"
#include "cli/progress_bar.h"
#include "cli/text.h"
#include "cli/torch/commands.h"
#include "cli/torch/tensors.h"
#include "compiler/api/compiled_graph.h"
#include "compiler/api/environment.h"
#include "ir/text.h"

namespace antegrad::cli {
namespace {

using compiler::CompiledGraph;

constexpr const char* kBench = "bench";
constexpr size_t kFewest = 5;  ///< the fewest runs of each, however long they take
constexpr double kInfinite = std::numeric_limits<double>::max();  ///< JSON has no infinity
using Clock = std::chrono::steady_clock;

struct Times {
  double median = 0, low = 0, high = 0;  ///< low and high are the 10th and 90th percentiles
};

Times times_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

struct Result {
  std::string graph;
  ir::Stage stage = ir::Stage::Functional;
  std::vector<int64_t> symbols;
  size_t runs = 0;
  Times fused, eager;
  double compile = 0;
  CompiledGraph::Half fused_counts, eager_counts;  ///< of both halves together
  /// The largest, relative to the largest element of its output; -1 for graphs that draw random numbers.
  double difference = -1;
};

CompiledGraph::Half counts(const CompiledGraph& code) {
  auto out = code.forward();
  if (!code.is_split()) return out;
  const auto backward = code.backward();
  return {out.kernels + backward.kernels, out.calls + backward.calls,
          std::max(out.arena_bytes, backward.arena_bytes)};
}

bool draws_numbers(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const ir::Node& node) { return node.effects.random; });
}

double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() || !b[i].defined() || a[i].numel() == 0) continue;
    const auto wide = a[i].is_complex() ? at::kComplexDouble : at::kDouble;
    const auto x = a[i].to(wide), y = b[i].to(wide);
    const auto same = x.eq(y).logical_or(x.ne(x).logical_and(y.ne(y)));
    // An element that is finite in only one of them counts as the largest possible difference.
    const auto gap = x.sub(y).abs().nan_to_num(kInfinite, kInfinite).masked_fill(same, 0);
    const auto scale = std::max(y.abs().nan_to_num(0, 0, 0).max().item<double>(), 1e-30);
    const auto found = gap.max().item<double>();
    largest = std::max(largest, found == kInfinite ? kInfinite : found / scale);
  }
  return largest;
}

/// Runs both alternately, so that they see the same conditions.
void measure(const BenchOptions& options, const CompiledGraph& fused, const CompiledGraph& eager,
             const std::vector<at::Tensor>& inputs, Result& result) {
  std::vector<double> samples[2];
  const CompiledGraph* codes[2] = {&fused, &eager};
  for (const auto* code : codes) code->run(inputs);
  ProgressBar progress("bench");
  const auto start = Clock::now();
  const auto enough = [&] {
    const auto runs = samples[1].size();
    if (options.runs > 0) return runs >= options.runs;
    return runs >= kFewest && seconds_since(start) >= options.seconds;
  };
  while (!enough()) {
    for (size_t i = 0; i < 2; ++i) {
      const auto before = Clock::now();
      codes[i]->run(inputs);
      samples[i].push_back(seconds_since(before));
    }
    if (options.runs > 0)
      progress(samples[1].size(), options.runs);
    else
      progress(static_cast<size_t>(seconds_since(start) * 100), static_cast<size_t>(options.seconds * 100));
  }
  result.runs = samples[0].size();
  result.fused = times_of(std::move(samples[0]));
  result.eager = times_of(std::move(samples[1]));
}

std::string json_of(const Result& result) {
  using Json = nlohmann::ordered_json;
  const auto way = [](const Times& times, const CompiledGraph::Half& counts) {
    return Json{{"median_s", times.median},  {"p10_s", times.low},    {"p90_s", times.high},
                {"kernels", counts.kernels}, {"calls", counts.calls}, {"arena_bytes", counts.arena_bytes}};
  };
  auto fused = way(result.fused, result.fused_counts);
  fused["compile_s"] = result.compile;
  Json out = {{"graph", result.graph},
              {"stage", ir::name(result.stage)},
              {"symbols", result.symbols},
              {"threads", at::get_num_threads()},
              {"runs", result.runs},
              {"fused", std::move(fused)},
              {"eager", way(result.eager, result.eager_counts)},
              {"ratio", result.eager.median / result.fused.median}};
  if (result.difference >= 0)
    out["largest_difference"] = result.difference;
  else
    out["largest_difference"] = nullptr;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_of(const Result& result) {
  const auto row = [](const char* name, const Times& times, const CompiledGraph::Half& counts) {
    return Row{name, time_text(times.median),
               fmt::format("{} to {}", time_text(times.low), time_text(times.high)),
               std::to_string(counts.kernels), std::to_string(counts.calls)};
  };
  auto out = fmt::format("graph @{} {}, {} of each, {}\n", one_line(result.graph), ir::name(result.stage),
                         count_text(result.runs, "run"),
                         count_text(static_cast<uint64_t>(at::get_num_threads()), "thread"));
  out += columns({{"", "median", "10% to 90%", "kernels", "calls"},
                  row("fused", result.fused, result.fused_counts),
                  row("op by op", result.eager, result.eager_counts)},
                 {1, 2, 3, 4});
  out += fmt::format("fused is {:.2f} times as fast; compiled in {}\n",
                     result.eager.median / result.fused.median, time_text(result.compile));
  if (result.difference < 0) return out + "results are not compared: the graph draws random numbers\n";
  if (result.difference == kInfinite) return out + "results differ: one is finite where the other is not\n";
  return out +
         fmt::format("results differ by at most {:.2g} of an output's largest element\n", result.difference);
}

}  // namespace

std::string bench_graph(const BenchOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  const auto graph = compiler::runnable(ir::parse(read_file(options.file)));
  const auto inputs = make_inputs(kBench, graph, options);
  auto settings = compiler::with_environment({});
  settings.backend = Backend::Default;
  settings.cache = Cache::Off;
  Result result;
  const auto start = Clock::now();
  const auto fused = CompiledGraph::compiled(graph, settings, inputs.symbols);
  result.compile = seconds_since(start);
  const auto eager = CompiledGraph::as_written(graph, inputs.symbols);
  result.graph = graph.name;
  result.stage = graph.stage;
  result.symbols = inputs.symbols;
  result.fused_counts = counts(fused);
  result.eager_counts = counts(eager);
  if (!draws_numbers(graph))
    result.difference = largest_difference(fused.run(inputs.tensors), eager.run(inputs.tensors));
  measure(options, fused, eager, inputs.tensors, result);
  return options.json ? json_of(result) : table_of(result);
}

}  // namespace antegrad::cli
