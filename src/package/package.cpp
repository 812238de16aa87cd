#include "antegrad/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "antegrad/c.h"
#include "antegrad/error.h"
#include "compiler/cache/system_key.h"
#include "compiler/plan/lowering.h"
#include "package/collect.h"
#include "package/sources.h"
#include "package/state.h"
#include "package/step.h"

namespace antegrad {
namespace packaging {
namespace {

/// Returns the number of a weight, or -1.
int32_t number_of(const Weights& weights, const std::string& name) {
  const auto found = std::find_if(weights.info.begin(), weights.info.end(),
                                  [&](const WeightInfo& info) { return info.name == name; });
  return found == weights.info.end() ? -1 : static_cast<int32_t>(found - weights.info.begin());
}

[[noreturn]] void refuse_name(const char* kind, const std::string& name, const std::string& path) {
  throw Error(ErrorCode::InvalidArgument, "package", fmt::format("\"{}\" has no {} \"{}\"", path, kind, name),
              "Use a name that `antegrad package list` prints");
}

}  // namespace
}  // namespace packaging

void package(const std::string& path, const std::vector<FunctionToPackage>& functions,
             const PackageOptions& options) {
  packaging::Collector collector(options);
  packaging::Manifest manifest;
  std::set<std::string> names;
  for (const auto& function : functions) {
    if (!names.insert(function.name).second)
      throw Error(ErrorCode::InvalidArgument, "package",
                  fmt::format("two functions are called \"{}\"", function.name), "Give them different names");
    if (function.training)
      manifest.steps.push_back(collector.add_step(function));
    else
      manifest.functions.push_back(collector.add(function));
  }
  auto isas = collector.kernels().isas();
  for (const auto isa : options.isas) isas.emplace(toolchain::isa_name(compiler::instruction_set(isa)));
  collector.kernels().complete(isas);
  auto records = collector.take_records();
  collector.kernels().add_to(records);
  manifest.external_weights = options.weights == PackagedWeights::External;
  packaging::add_weights(collector.weights(), manifest, records);
  manifest.info.format = packaging::kFormat;
  manifest.info.antegrad = antegrad_version();
  manifest.info.build = compiler::own_build();
  manifest.info.libtorch = packaging::libtorch_here();
  manifest.info.machine = packaging::machine_here();
  manifest.info.isas.assign(isas.begin(), isas.end());
  manifest.info.metadata = options.metadata;
  manifest.toolchain = collector.toolchain();
  packaging::write_archive(path, std::move(manifest), std::move(records), options.key_file);
}

c10::IValue PackagedFunction::argument(std::optional<c10::IValue> value) {
  if (!value)
    throw Error(ErrorCode::UnsupportedArgument, "package", "an argument has no form as a value",
                "Pass tensors, numbers, texts, and structs, lists and maps of these");
  return *std::move(value);
}

c10::IValue PackagedFunction::call(const std::vector<c10::IValue>& arguments) const {
  if (detail::capturing())
    throw Error(ErrorCode::UnsupportedOp, "package:" + function_->info.name,
                "a function of a package is called inside a function that is being captured",
                "Call it outside of compiled functions");
  const auto result = function_->versions.call(packaging::flatten_arguments(arguments));
  return packaging::with_tensors(result.structure->result, result.tensors);
}

/// Calls what takes arguments of this pattern with all tensors in them one by one.
template <class Call>
static std::vector<at::Tensor> call_with_tensors(const Call& callable, const std::string& name,
                                                 const std::vector<c10::IValue>& pattern,
                                                 const std::vector<at::Tensor>& tensors) {
  const auto count = packaging::flatten_arguments(pattern).tensors.size();
  if (count != tensors.size())
    throw Error(ErrorCode::InvalidArgument, "package:" + name,
                fmt::format("{} tensors are given, and the function takes {}", tensors.size(), count),
                "Give as many as its arguments have: " + callable.arguments());
  std::vector<c10::IValue> arguments;
  auto next = tensors.begin();
  for (const auto& argument : pattern) {
    const auto end = next + static_cast<int64_t>(packaging::flatten_arguments({argument}).tensors.size());
    arguments.push_back(packaging::with_tensors(argument, {next, end}));
    next = end;
  }
  const auto leaves = packaging::flatten_arguments({callable.call(arguments)});
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

std::vector<at::Tensor> PackagedFunction::call_tensors(const std::vector<at::Tensor>& tensors) const {
  return call_with_tensors(*this, function_->info.name, function_->versions.arguments(), tensors);
}

std::vector<at::Tensor> PackagedStep::call_tensors(const std::vector<at::Tensor>& tensors) const {
  return call_with_tensors(*this, step_->info.name, step_->versions().arguments(), tensors);
}

std::vector<at::Tensor> PackagedStep::example() const { return step_->versions().example(); }

std::vector<at::Tensor> PackagedFunction::example() const { return function_->versions.example(); }

c10::IValue PackagedStep::call(const std::vector<c10::IValue>& arguments) const {
  return step_->call(arguments);
}
void PackagedStep::set(const std::string& name, double value) const { step_->set(name, value); }
torch::optim::Optimizer& PackagedStep::optimizer() const { return step_->optimizer(); }
std::shared_ptr<GradScaler> PackagedStep::scaler() const { return step_->core().impl().options().scaler; }
std::shared_ptr<WeightAverage> PackagedStep::average() const {
  return step_->core().impl().options().average;
}
StepResult PackagedStep::last() const { return step_->core().last(); }
std::string PackagedStep::arguments() const { return step_->info.arguments; }
std::string PackagedStep::result() const { return step_->info.result; }

std::string PackagedFunction::arguments() const { return function_->info.arguments; }
std::string PackagedFunction::result() const { return function_->info.result; }

Package Package::load(const std::string& path, const PackageLoad& options) {
  auto state = std::make_shared<packaging::State>();
  state->archive = std::make_shared<const packaging::Archive>(path, options.key_file);
  const auto& manifest = state->archive->manifest();
  if (options.check_weights)
    for (const auto& [record, digest] : manifest.records)
      if (record.rfind(packaging::kWeightsFolder, 0) == 0) state->archive->verify(record);
  state->code = std::make_shared<packaging::CodeLoader>(state->archive, options);
  state->weights = std::make_shared<packaging::Weights>();
  state->weights->info = manifest.weights;
  state->weights->tensors = packaging::map_weights(*state->archive);
  for (const auto& function : manifest.functions)
    state->functions.push_back(std::make_unique<packaging::Function>(function, state->code, state->weights));
  for (const auto& step : manifest.steps)
    state->steps.push_back(std::make_unique<packaging::Step>(step, state->code, state->weights));
  return Package(std::move(state));
}

PackageInfo Package::info() const { return state_->archive->manifest().info; }

std::vector<std::string> Package::functions() const {
  std::vector<std::string> names;
  for (const auto& function : state_->functions) names.push_back(function->info.name);
  return names;
}

PackagedFunction Package::function(const std::string& name) const {
  for (const auto& function : state_->functions)
    if (function->info.name == name) return {state_, function.get()};
  packaging::refuse_name("function", name, state_->archive->path());
}

std::vector<std::string> Package::steps() const {
  std::vector<std::string> names;
  for (const auto& step : state_->steps) names.push_back(step->info.name);
  return names;
}

PackagedStep Package::step(const std::string& name) const {
  for (const auto& step : state_->steps)
    if (step->info.name == name) return {state_, step.get()};
  packaging::refuse_name("training step", name, state_->archive->path());
}

NamedTensors Package::weights() const {
  const std::shared_lock lock(state_->weights->mutex);
  NamedTensors out;
  for (size_t i = 0; i < state_->weights->info.size(); ++i)
    out.emplace_back(state_->weights->info[i].name, state_->weights->tensors[i]);
  return out;
}

at::Tensor Package::weight(const std::string& name) const {
  const auto number = packaging::number_of(*state_->weights, name);
  if (number < 0) packaging::refuse_name("weight", name, state_->archive->path());
  const std::shared_lock lock(state_->weights->mutex);
  return state_->weights->tensors[number];
}

std::vector<at::Tensor> Package::parameters() const {
  std::vector<at::Tensor> out;
  for (const auto& [name, tensor] : weights())
    if (tensor.defined() && tensor.requires_grad() &&
        std::none_of(out.begin(), out.end(),
                     [&t = tensor](const at::Tensor& known) { return known.is_same(t); }))
      out.push_back(tensor);
  return out;
}

void Package::replace(const NamedTensors& tensors) const {
  auto& weights = *state_->weights;
  std::vector<int32_t> numbers;
  for (const auto& [name, tensor] : tensors) {
    numbers.push_back(packaging::number_of(weights, name));
    if (numbers.back() < 0) packaging::refuse_name("weight", name, state_->archive->path());
    packaging::check_weight(weights.info[numbers.back()], tensor);
  }
  const std::unique_lock lock(weights.mutex);
  ++weights.generation;
  for (size_t i = 0; i < tensors.size(); ++i) {
    weights.tensors[numbers[i]] = tensors[i].second;
    for (auto* user : weights.users) user->set_weight(numbers[i], tensors[i].second);
  }
}

void Package::replace_known(const NamedTensors& tensors) const {
  NamedTensors known;
  for (const auto& item : tensors)
    if (packaging::number_of(*state_->weights, item.first) >= 0) known.push_back(item);
  if (known.empty())
    throw Error(ErrorCode::InvalidArgument, "package:weights",
                "the module has no parameter or buffer with the name of a weight",
                "Give the package the names of the module: PackageOptions::name_weights");
  replace(known);
}

void Package::save(const std::string& path, const std::string& key_file) const {
  auto manifest = state_->archive->manifest();
  std::map<std::string, packaging::RecordToWrite> records;
  for (const auto& [record, digest] : manifest.records)
    if (record.rfind(packaging::kWeightsFolder, 0) != 0)
      records[record].bytes = std::string(state_->archive->read(record));
  auto weights = this->weights();
  for (const auto& [name, tensor] : weights)
    if (!tensor.defined() && !manifest.external_weights)
      throw Error(ErrorCode::InvalidArgument, "package:save",
                  fmt::format("the weight \"{}\" is not given", name), "Call replace() before");
  for (const auto& step : state_->steps)
    if (step->is_used()) records[packaging::step_record(step->info.name)].bytes = step->record(weights);
  if (manifest.external_weights) {
    for (auto i = manifest.weights.size(); i < weights.size(); ++i)
      manifest.weights.push_back(packaging::weight_info(weights[i].first, weights[i].second));
  } else {
    manifest.weights.clear();
    packaging::add_weights(weights, manifest, records);
  }
  packaging::write_archive(path, std::move(manifest), std::move(records), key_file);
}

void Package::write_sources(const std::string& folder) const {
  packaging::write_sources(*state_->archive, folder);
}

void Package::verify() const {
  state_->archive->verify();
  for (const auto& function : state_->functions) function->versions.load_everything();
  for (const auto& step : state_->steps) step->load_everything();
}

packaging::State::State() = default;
packaging::State::~State() = default;

std::vector<std::string> Package::notes() const { return state_->code->notes(); }

static void add_versions_to(std::string& text, const std::vector<std::vector<std::string>>& versions) {
  for (size_t v = 0; v < versions.size(); ++v) {
    text += fmt::format("  version {}\n", v);
    for (const auto& guard : versions[v]) text += fmt::format("    {}\n", guard);
  }
}

std::string Package::text() const {
  const auto& manifest = state_->archive->manifest();
  const auto& info = manifest.info;
  std::string text = fmt::format("format {}, antegrad {} (build {}), LibTorch {}, {}, {}\n", info.format,
                                 info.antegrad, info.build.substr(0, 12), info.libtorch, info.machine,
                                 info.is_signed ? "signed" : "not signed");
  for (const auto& isa : info.isas) text += fmt::format("kernels for {} by {}\n", isa, manifest.toolchain);
  for (const auto& [key, value] : info.metadata) text += fmt::format("metadata {}: {}\n", key, value);
  for (const auto& function : manifest.functions) {
    text += fmt::format("function {}{} -> {}, {} {}\n", function.name, function.arguments, function.result,
                        function.derivatives, function.derivatives == 1 ? "derivative" : "derivatives");
    add_versions_to(text, function.versions);
  }
  for (const auto& step : manifest.steps) {
    text +=
        fmt::format("training step {}{} -> {}, {}\n", step.name, step.arguments, step.result, step.optimizer);
    add_versions_to(text, step.versions);
  }
  for (const auto& weight : manifest.weights)
    text += fmt::format("weight {}: {}{}\n", weight.name, packaging::type_text(weight),
                        manifest.external_weights ? ", not in the file" : "");
  return text;
}

}  // namespace antegrad
