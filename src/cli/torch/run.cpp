#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <sstream>

#include "aten/convert.h"
#include "cli/files.h"
#include "cli/text.h"
#include "cli/torch/commands.h"
#include "cli/torch/tensors.h"
#include "compiler/api/compiled_graph.h"
#include "compiler/api/environment.h"
#include "ir/text.h"

namespace antegrad::cli {
namespace {

using compiler::CompiledGraph;

constexpr const char* kRun = "run";

Options options_of(const RunOptions& given) {
  auto options = compiler::with_environment({});
  if (given.backend == "eager") options.backend = Backend::Eager;
  if (given.backend == "nofuse") options.backend = Backend::NoFuse;
  if (given.backend == "default") options.backend = Backend::Default;
  return options;
}

/// Returns mean, minimum and maximum of the finite elements; complex numbers count by absolute value.
Row statistics(const at::Tensor& tensor) {
  auto flat = tensor.flatten();
  flat = flat.is_complex() ? flat.abs().to(at::kDouble) : flat.to(at::kDouble);
  const auto all = flat.numel();
  flat = flat.masked_select(flat.isfinite());
  const auto finite = flat.numel();
  const auto verdict = finite == all ? "all" : fmt::format("{} of {}", finite, all);
  if (finite == 0) return {"-", "-", "-", verdict};
  const auto number = [](const at::Tensor& value) { return fmt::format("{:.6g}", value.item<double>()); };
  return {number(flat.mean()), number(flat.min()), number(flat.max()), verdict};
}

std::string half_text(const char* name, const CompiledGraph::Half& half) {
  return fmt::format("{}: {}, {} of LibTorch\n", name, count_text(half.kernels, "kernel"),
                     count_text(half.calls, "call"));
}

std::string head(const ir::Graph& graph, const std::vector<int64_t>& symbols, const CompiledGraph& code) {
  auto out = fmt::format("graph @{} {}", one_line(graph.name), ir::name(graph.stage));
  for (size_t i = 0; i < symbols.size(); ++i)
    out += fmt::format("{} s{}={}", i > 0 ? "," : "", i, symbols[i]);
  out += "\n";
  if (!code.is_split()) return out + half_text("graph", code.forward());
  return out + half_text("forward", code.forward()) + half_text("backward", code.backward()) +
         fmt::format("saved between them: {}\n", size_text(static_cast<uint64_t>(code.saved_bytes())));
}

std::string table(const NamedTensors& outputs) {
  std::vector<Row> rows = {{"output", "type", "mean", "min", "max", "finite"}};
  for (const auto& [name, tensor] : outputs) {
    Row row = {one_line(name)};
    if (!tensor.defined()) {
      row.emplace_back("none");
    } else {
      row.push_back(ir::print(ir::Type(ir::contiguous_tensor(
          aten::to_ir(tensor.scalar_type()), {tensor.sizes().begin(), tensor.sizes().end()}))));
      for (auto& cell : statistics(tensor)) row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  return columns(rows, {2, 3, 4});
}

}  // namespace

std::string run_graph(const RunOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  const auto graph = compiler::runnable(ir::parse(read_file(options.file)));
  const auto inputs = make_inputs(kRun, graph, options);
  const auto code = CompiledGraph::compiled(graph, options_of(options), inputs.symbols);
  const auto results = code.run(inputs.tensors);
  const auto names = names_of_outputs(graph);
  NamedTensors outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.emplace_back(names[i], results[i]);
  if (!options.output.empty()) save_tensors(kRun, options.output, outputs);
  auto text = head(graph, inputs.symbols, code) + table(outputs);
  if (!options.print) return text;
  for (const auto& [name, tensor] : outputs) {
    std::ostringstream values;
    values << tensor;
    text += fmt::format("\n{}\n{}\n", one_line(name), values.str());
  }
  return text;
}

}  // namespace antegrad::cli
