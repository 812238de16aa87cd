#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "package/collect.h"

namespace antegrad::packaging {
namespace {

using detail::TrainingCore;

/// The arguments of a step, and what its function returns after the gradients.
Structure structure_of_step(const Structure& of_function) {
  auto out = of_function;
  auto* pair = &of_function.result;
  if (!pair->toTupleRef().elements()[0].isList()) pair = &pair->toTupleRef().elements()[0];
  out.result = pair->toTupleRef().elements()[1];
  return out;
}

void check_step(const TrainingCore::Impl& core, const std::string& what) {
  if (!core.stepper.method())
    refuse_function(what, "no formula of its optimizer is known",
                    "Take an optimizer that docs/training-steps.md lists, or package the loss");
  if (core.options().data_parallel)
    refuse_function(what, "it reduces gradients over several processes", "Package the loss");
  if (!std::ranges::equal(core.trained_now().first, core.parameters,
                          [](const auto& a, const auto& b) { return a.is_same(b); }))
    refuse_function(what, "its optimizer has other parameters that require gradients than at its last call",
                    "Call it before");
  if (!core.set_aside.empty())
    refuse_function(what, "it has accumulated gradients of parameters that are frozen now",
                    "Package it after the next update");
}

/// A tensor like the gradient of a parameter; undefined for those that have none.
at::Tensor like_gradient(const TrainingCore::Impl& core, const at::Tensor& parameter) {
  const auto place =
      std::ranges::find_if(core.parameters, [&](const auto& trained) { return trained.is_same(parameter); });
  if (place == core.parameters.end()) return {};
  const auto i = static_cast<size_t>(place - core.parameters.begin());
  const auto values = parameter.detach();
  if (optim::is_elementwise(*core.stepper.method())) return values;
  // Functions that update all parameters at once are others without one of them.
  const bool has_sum = i < core.accumulated.size() && core.accumulated[i].defined();
  return has_sum || core.had_gradients.at(i) ? at::zeros_like(values) : at::Tensor();
}

}  // namespace

StepInfo Collector::add_step(const FunctionToPackage& step) {
  check_name(step.name);
  const auto what = fmt::format("'{}'", step.name);
  auto& core = step.training->impl();
  if (step.function == nullptr) refuse_function(what, "it has not been called", "Call it before");
  check_step(core, what);
  if (std::ranges::count(optimizers_, &core.stepper.optimizer()) > 0)
    refuse_function(what, "another step of the package has the same optimizer", "Package one of them");
  optimizers_.push_back(&core.stepper.optimizer());
  if (const auto& scaler = core.options().scaler)
    weights_.add(scaler->scale, {}, step.name + ".scaler.scale");
  auto added =
      add_versions(current_versions(*step.function, what), step_folder(step.name), what, 1, &step, step);
  auto record = record_of(
      core, step.name,
      [&](const at::Tensor& tensor, const std::string& name) {
        return weights_.add(tensor, step.names, name);
      },
      [&](int32_t number) { return weights_.weights()[number].first; });
  core.stepper.prepare_kernels([&](const at::Tensor& parameter) { return like_gradient(core, parameter); });
  record.functions = add_update_code(core, step);
  records_[step_record(step.name)].bytes = write_step(record);
  const auto structure = structure_of_step(added.structure);
  return {step.name, print(structure.arguments), print(structure.result), optim::class_name(record.method),
          std::move(added.guards)};
}

std::map<std::string, size_t> Collector::add_update_code(const TrainingCore::Impl& core,
                                                         const FunctionToPackage& step) {
  std::map<std::string, size_t> counts;
  const auto* code = dynamic_cast<const optim::CompiledUpdateCode*>(&core.stepper.code());
  if (code == nullptr) return counts;  // of a package, which package() does not take
  for (const auto& [text, lowered] : code->flat_code())
    add_code(*lowered, code->lowering(), update_record(text));
  for (const auto& [formulas, function] : code->functions().functions()) {
    const auto what = fmt::format("the optimizer of '{}'", step.name);
    const auto name = optim::folder_name(formulas);
    FunctionToPackage update(step.name, function);
    update.list_of_arguments = false;
    Versions current;
    for (const auto& version : function.core()->versions()) current.push_back(version);
    if (current.empty()) continue;
    counts[name] =
        add_versions(current, fmt::format("{}{}/", step_folder(step.name), name), what, 1, &update, update)
            .guards.size();
  }
  return counts;
}

}  // namespace antegrad::packaging
