// Commands on programs of torch.export.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "antegrad/error.h"
#include "antegrad/program.h"
#include "cli/errors.h"
#include "cli/files.h"
#include "cli/text.h"
#include "cli/torch/commands.h"
#include "compiler/api/environment.h"
#include "compiler/api/function_graph.h"
#include "ir/text.h"
#include "program/tensor_file.h"

namespace antegrad::cli {
namespace {

using ProgramJson = nlohmann::ordered_json;

[[noreturn]] void refuse_inputs(const std::string& file, const std::string& fact) {
  throw Error(
      ErrorCode::Parse, "run:inputs", fmt::format("\"{}\" {}", file, fact),
      "Give how many tensors there are, then of each 1 if it is floating-point, else 0, how many dimensions, "
      "the sizes and the values; or a safetensors file");
}

/// "2 1 1 3 0.5 1 2 0 0 7": two tensors, f32[3] and i64[].
std::vector<c10::IValue> inputs_of_text(const std::string& file) {
  std::istringstream text(read_file(file));
  const auto next = [&](auto low, auto high) {
    auto value = low;
    if (!(text >> value) || value < low || value > high) refuse_inputs(file, "is not a list of tensors");
    return value;
  };
  std::vector<c10::IValue> out;
  const auto count = next(int64_t{0}, int64_t{10'000});
  for (int64_t i = 0; i < count; ++i) {
    const bool floating = next(int64_t{0}, int64_t{1}) != 0;
    std::vector<int64_t> sizes(static_cast<size_t>(next(int64_t{0}, int64_t{64})));
    int64_t elements = 1;
    for (auto& size : sizes) {
      size = next(int64_t{0}, int64_t{1} << 40);
      if (__builtin_mul_overflow(elements, size, &elements) || elements > (int64_t{1} << 32))
        refuse_inputs(file, "has a tensor that is too large");
    }
    auto tensor = at::empty(sizes, floating ? at::kDouble : at::kLong);
    for (int64_t k = 0; k < elements; ++k) {
      std::string number;
      if (!(text >> number)) refuse_inputs(file, "has too few numbers");
      if (floating)
        tensor.data_ptr<double>()[k] = std::strtod(number.c_str(), nullptr);
      else
        tensor.data_ptr<int64_t>()[k] = std::strtoll(number.c_str(), nullptr, 10);
    }
    out.emplace_back(floating ? tensor.to(at::kFloat) : tensor);
  }
  return out;
}

bool ends_in(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<c10::IValue> program_inputs(const Program& program, const std::string& file) {
  if (file.empty()) {
    std::string wanted;
    for (const auto& input : program.inputs()) wanted += fmt::format(" {}: {}", input.name, input.type);
    throw UsageError("run", fmt::format("the program takes{}", wanted), "Give them with --inputs FILE");
  }
  if (!ends_in(file, ".safetensors")) return inputs_of_text(file);
  const auto tensors = antegrad::program::read_safetensors(antegrad::program::file_source(file));
  std::vector<c10::IValue> out;
  for (const auto& input : program.inputs())
    if (const auto found = tensors.find(input.name); found != tensors.end()) out.emplace_back(found->second);
  return out;
}

Options options_of_program(const std::string& backend) {
  auto options = compiler::with_environment({});
  if (backend == "eager") options.backend = Backend::Eager;
  if (backend == "nofuse") options.backend = Backend::NoFuse;
  if (backend == "default") options.backend = Backend::Default;
  options.rng = Rng::Eager;
  options.unsupported = Unsupported::Break;  // reported
  return options;
}

/// Names captured tensors as the program does, in a graph that has numbered them.
void name_lifted(const Program& program, compiler::FunctionGraph& function) {
  std::map<std::string, std::string> names;
  for (const auto& state : {program.named_parameters(), program.named_buffers(), program.named_constants()})
    for (const auto& [name, tensor] : state)
      for (const auto& [number, lifted] : function.lifted)
        if (lifted.is_same(tensor)) names.emplace(number, name);
  const auto rename = [&](std::string& name) {
    const auto colon = name.find(':') + 1;  // "grad:lifted0"
    if (const auto found = names.find(name.substr(colon)); found != names.end())
      name = name.substr(0, colon) + found->second;
  };
  for (auto& input : function.graph.inputs) rename(input.name);
  for (auto& output : function.graph.outputs) rename(output.name);
}

/// The sum of the results that require a gradient; undefined if none does.
at::Tensor loss_of_results(const c10::IValue& result) {
  Leaves leaves;
  flatten(result, leaves);
  at::Tensor loss;
  for (const auto& tensor : leaves.tensors) {
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    const auto sum = tensor.to(at::kFloat).sum();
    loss = loss.defined() ? loss + sum : sum;
  }
  return loss;
}

double sum_of(const at::Tensor& tensor) { return tensor.detach().to(at::kDouble).sum().item<double>(); }

/// Adds what was not compiled as a whole, and why.
void say_what_broke(const Report& report, ProgramJson& out) {
  if (!report.breaks.empty()) out["breaks"] = report.breaks;
  if (report.eager_calls > 0) out["uncompiled"] = report.eager_reasons;
}

ProgramJson json_of_run(const Program& program, const at::Tensor& loss, bool gradients,
                        const Report& report) {
  ProgramJson out = {{"loss", nullptr}};
  if (loss.defined()) out["loss"] = loss.item<double>();
  if (gradients) {
    out["gradients"] = ProgramJson::object();
    for (const auto& [name, tensor] : program.named_parameters()) {
      if (tensor.grad().defined())
        out["gradients"][name] = sum_of(tensor.grad().to(at::kDouble).pow(2));
      else
        out["gradients"][name] = nullptr;
    }
  }
  out["buffers"] = ProgramJson::object();
  for (const auto& tensors : {program.named_buffers(), program.named_constants()})
    for (const auto& [name, tensor] : tensors) out["buffers"][name] = sum_of(tensor);
  say_what_broke(report, out);
  if (const auto warnings = program.warnings(); !warnings.empty()) out["warnings"] = warnings;
  return out;
}

std::string text_of_run(const ProgramJson& json) {
  std::string out;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_structured()) {
      out += fmt::format("{} {}\n", key, value.dump());
      continue;
    }
    out += key + "\n";
    for (const auto& [name, one] : value.items())
      out += value.is_array() ? fmt::format("  {}\n", one.get<std::string>())
                              : fmt::format("  {} {}\n", name, one.dump());
  }
  return out;
}

double seconds_of(const std::function<void()>& step) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

}  // namespace

bool is_program(const std::string& file) { return ends_in(file, ".pt2"); }

std::string print_program(const std::string& file, const std::string& model) {
  return load_program(file, {model}).text();
}

std::string graph_of_program(const std::string& file, const std::string& model) {
  const auto program = load_program(file, {model});
  Leaves leaves;
  const auto example = program.example();
  flatten(example, leaves);
  const auto run = [&](const std::vector<at::Tensor>& tensors) {
    LeafReader reader(tensors);
    Leaves results;
    flatten(program(rebuild(example, reader)), results);
    return std::vector<at::Tensor>(results.tensors.begin(), results.tensors.end());
  };
  auto function = compiler::graph_of_function(
      options_of_program(""), {compiler::ExportWanted::Gradients::IfAny, /*dynamic=*/false}, leaves, run);
  name_lifted(program, function);
  return ir::print(function.graph);
}

std::string run_program(const RunOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  const auto program = load_program(options.file, {options.model});
  const auto inputs = program_inputs(program, options.program_inputs);
  const auto compiled = compile(program, options_of_program(options.backend));
  at::manual_seed(options.seed);
  const auto loss = loss_of_results(compiled.call(inputs));
  if (options.gradients && loss.defined()) torch::autograd::backward({loss}, {});
  const auto json = json_of_run(program, loss, options.gradients, compiled.report());
  return options.json ? json.dump(2, ' ', false, ProgramJson::error_handler_t::replace) + "\n"
                      : text_of_run(json);
}

std::string bench_program(const BenchOptions& options) {
  if (options.threads > 0) at::set_num_threads(options.threads);
  const auto program = load_program(options.file, {options.model});
  const auto inputs = program_inputs(program, options.program_inputs);
  auto settings = options_of_program("");
  settings.rng = Rng::Fused;
  const auto compiled = compile(program, settings);
  at::manual_seed(options.seed);
  const auto step = [&](const c10::IValue& result) {
    if (const auto loss = loss_of_results(result); loss.defined()) torch::autograd::backward({loss}, {});
    for (const auto& parameter : program.parameters()) parameter.mutable_grad() = at::Tensor();
  };
  const auto fast = [&] { step(compiled.call(inputs)); };
  const auto plain = [&] { step(program(inputs)); };
  const auto first = seconds_of(fast);
  plain();
  std::vector<double> a, b;
  double spent = 0;
  while (options.runs > 0 ? a.size() < options.runs : a.size() < 5 || spent < options.seconds) {
    a.push_back(seconds_of(fast));
    b.push_back(seconds_of(plain));
    spent += a.back() + b.back();
  }
  const auto runs = a.size();
  const auto compiled_s = median_of(std::move(a)), eager_s = median_of(std::move(b));
  ProgramJson out = {{"program", options.file},          {"runs", runs},
                     {"threads", at::get_num_threads()}, {"first_call_s", first},
                     {"compiled_s", compiled_s},         {"eager_s", eager_s},
                     {"ratio", eager_s / compiled_s}};
  say_what_broke(compiled.report(), out);
  if (options.json) return out.dump(2, ' ', false, ProgramJson::error_handler_t::replace) + "\n";
  return fmt::format(
      "{} of forward and backward pass\ncompiled {}\neager    {}\n{:.2f} times as fast; first call {}\n",
      count_text(runs, "run"), time_text(compiled_s), time_text(eager_s), eager_s / compiled_s,
      time_text(first));
}

}  // namespace antegrad::cli
