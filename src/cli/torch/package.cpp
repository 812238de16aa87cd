#include "antegrad/package.h"
#include "antegrad/error.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "cli/text.h"
#include "cli/torch/commands.h"
#include "package/archive.h"
#include "program/tensor_file.h"

namespace antegrad::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_after(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

PackageLoad load_options(const PackageCommand& given) {
  PackageLoad load;
  load.strict = given.strict;
  load.ir_only = given.ir_only;
  load.key_file = given.key_file;
  load.kernel_library = given.kernel_library;
  return load;
}

std::string list(const Package& package) {
  std::string text;
  for (const auto& name : package.functions()) {
    const auto function = package.function(name);
    text += fmt::format("{}{} -> {}\n", name, function.arguments(), function.result());
  }
  for (const auto& name : package.steps()) {
    const auto step = package.step(name);
    text += fmt::format("step {}{} -> {}\n", name, step.arguments(), step.result());
  }
  for (const auto& [name, tensor] : package.weights()) text += fmt::format("weight {}\n", name);
  return printable(text);
}

/// A function or a training step.
struct Callable {
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)> call;
  std::function<std::vector<at::Tensor>()> example;
};

Callable callable_of(const Package& package, const PackageCommand& given) {
  const auto make = [](const auto& found) {
    return Callable{[found](const std::vector<at::Tensor>& tensors) { return found.call_tensors(tensors); },
                    [found] { return found.example(); }};
  };
  const auto names = package.functions(), steps = package.steps();
  const bool is_step = given.function.empty() ? names.empty() && !steps.empty()
                                              : std::ranges::count(steps, given.function) > 0;
  if (is_step) return make(package.step(given.function.empty() ? steps.front() : given.function));
  return make(package.function(given.function.empty() && !names.empty() ? names.front() : given.function));
}

std::vector<at::Tensor> inputs_of(const Callable& function, const PackageCommand& given) {
  at::manual_seed(given.seed);
  auto tensors = function.example();
  if (given.inputs.empty()) {
    for (auto& tensor : tensors)
      if (tensor.defined() && tensor.is_floating_point()) tensor.detach().normal_();
    return tensors;
  }
  const auto stored = program::read_safetensors(program::file_source(given.inputs));
  std::vector<at::Tensor> out;
  for (const auto& [name, tensor] : stored) {
    const bool needs_grad = out.size() < tensors.size() && tensors[out.size()].requires_grad();
    out.push_back(tensor.clone().set_requires_grad(needs_grad));
  }
  return out;
}

/// The sum of the results that have a history; undefined if none has.
at::Tensor loss_of(const std::vector<at::Tensor>& results) {
  at::Tensor loss;
  for (const auto& result : results)
    if (result.defined() && result.requires_grad())
      loss = loss.defined() ? at::add(loss, result.sum()) : result.sum();
  return loss;
}

std::string run(const Package& package, const PackageCommand& given) {
  const auto function = callable_of(package, given);
  const auto results = function.call(inputs_of(function, given));
  std::vector<Row> rows = {{"result", "type", "sum"}};
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& result = results[i];
    const auto sum =
        result.defined() ? fmt::format("{:.9g}", result.detach().to(at::kDouble).sum().item<double>()) : "-";
    rows.push_back({fmt::format("{}", i),
                    result.defined() ? c10::str(result.scalar_type(), result.sizes()) : "none", sum});
  }
  auto text = columns(rows, {2});
  if (given.gradients) {
    const auto loss = loss_of(results);
    if (!loss.defined()) return text + "no result has a gradient\n";
    loss.backward();
    rows = {{"gradient", "sum of squares"}};
    for (const auto& [name, tensor] : package.weights())
      if (tensor.defined() && tensor.grad().defined())
        rows.push_back({one_line(name),
                        fmt::format("{:.9g}", tensor.grad().to(at::kDouble).pow(2).sum().item<double>())});
    text += columns(rows, {1});
  }
  for (const auto& note : package.notes()) text += one_line(note) + "\n";
  return text;
}

double middle_of(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<int64_t>(samples.size() / 2),
                   samples.end());
  return samples[samples.size() / 2];
}

std::string bench(const PackageCommand& given) {
  at::empty({1}).add_(1);  // whatever LibTorch does once is not the package's
  const auto start = Clock::now();
  const auto package = Package::load(given.file, load_options(given));
  const auto loaded = seconds_after(start);
  const auto function = callable_of(package, given);
  const auto inputs = inputs_of(function, given);
  const auto before = Clock::now();
  const bool differentiable = loss_of(function.call(inputs)).defined();
  const auto first = seconds_after(before);
  std::vector<double> calls, steps;
  const auto until = [&](double share, std::vector<double>& samples, const auto& work) {
    const auto begin = Clock::now();
    do {
      const auto one = Clock::now();
      work();
      samples.push_back(seconds_after(one));
    } while (seconds_after(begin) < share * given.seconds || samples.size() < 5);
  };
  until(0.5, calls, [&] { function.call(inputs); });
  if (differentiable)
    until(0.5, steps, [&] {
      for (auto& parameter : package.parameters()) parameter.mutable_grad() = at::Tensor();
      loss_of(function.call(inputs)).backward();
    });
  std::vector<Row> rows = {
      {"load", time_text(loaded)}, {"first call", time_text(first)}, {"call", time_text(middle_of(calls))}};
  if (differentiable) rows.push_back({"call and backward", time_text(middle_of(steps))});
  auto text = columns(rows, {1});
  for (const auto& note : package.notes()) text += one_line(note) + "\n";
  return text;
}

std::string strip(const PackageCommand& given) {
  const packaging::Archive archive(given.file, given.key_file);
  const auto& present = archive.manifest().info.isas;
  for (const auto& isa : given.isas)
    if (std::find(present.begin(), present.end(), isa) == present.end())
      throw Error(
          ErrorCode::InvalidArgument, "package:strip",
          fmt::format("\"{}\" has no kernels for {}, but for {}", given.file, isa,
                      present.empty() ? "no instruction set" : fmt::format("{}", fmt::join(present, ", "))),
          "Name instruction sets of the file, or package the function again with PackageOptions::isas");
  auto manifest = archive.manifest();
  manifest.info.isas.clear();
  std::map<std::string, packaging::RecordToWrite> records;
  size_t dropped = 0;
  for (const auto& [record, digest] : archive.manifest().records) {
    const std::string folder = "data/antegrad/kernels/";
    bool keep = record.rfind(folder, 0) != 0;
    for (const auto& isa : given.isas)
      if (record.rfind(folder + isa + "/", 0) == 0) {
        keep = true;
        if (std::find(manifest.info.isas.begin(), manifest.info.isas.end(), isa) == manifest.info.isas.end())
          manifest.info.isas.push_back(isa);
      }
    if (keep) records[record].bytes = std::string(archive.read(record));
    dropped += !keep;
  }
  packaging::write_archive(given.output, std::move(manifest), std::move(records), given.key_file);
  return fmt::format("{} left out\n", count_text(dropped, "kernel"));
}

}  // namespace

std::string run_package(const PackageCommand& given) {
  if (given.action == "bench") return bench(given);
  if (given.action == "strip") return strip(given);
  const auto package = Package::load(given.file, load_options(given));
  if (given.action == "list") return list(package);
  if (given.action == "show") return printable(package.text());
  if (given.action == "run") return run(package, given);
  if (given.action == "sources") {
    package.write_sources(given.output);
    return fmt::format("kernels written to \"{}\"\n", one_line(given.output));
  }
  package.verify();
  return "good\n";
}

}  // namespace antegrad::cli
