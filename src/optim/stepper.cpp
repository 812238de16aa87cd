#include "optim/stepper.h"

#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <torch/nn/utils/clip_grad.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <typeinfo>

#include "antegrad/error.h"
#include "compiler/api/environment.h"
#include "optim/averages.h"
#include "optim/table.h"
#include "optim/update_reader.h"
#include "runtime/parallel.h"
#include "util/reasons.h"

namespace antegrad::optim {
namespace {

using torch::optim::Optimizer;

/// A formula is one kernel by nature: with one kernel per op nothing could be updated in place.
StepOptions normalised(StepOptions options) {
  options.options = compiler::with_environment(std::move(options.options));
  if (options.options.backend == Backend::NoFuse) options.options.backend = Backend::Default;
  return options;
}

void check_options(const StepOptions& options) {
  const auto refuse = [](const std::string& fact) {
    throw Error(ErrorCode::InvalidArgument, "options", fact, "See StepOptions in docs/training-steps.md");
  };
  if (options.options.freeze) refuse("Options::freeze is set, which is for inference");
  if (options.clip_norm && options.clip_value) refuse("clip_norm and clip_value are both set");
  if (options.clip_norm && !(*options.clip_norm >= 0))
    refuse(fmt::format("clip_norm is {}", *options.clip_norm));
  if (options.clip_value && !(*options.clip_value >= 0))
    refuse(fmt::format("clip_value is {}", *options.clip_value));
  if (!(options.norm_type >= 0)) refuse(fmt::format("norm_type is {}", options.norm_type));
  if (options.average && !(options.average->decay >= 0 && options.average->decay <= 1))
    refuse(fmt::format("the decay of the average is {}", options.average->decay));
}

/// Gives parameters other gradients for its lifetime.
class OtherGradients {
 public:
  OtherGradients(Optimizer& optimizer, GradientOf gradient_of) {
    for (auto& group : optimizer.param_groups())
      for (auto& parameter : group.params()) {
        if (!seen_.insert(parameter.unsafeGetTensorImpl()).second) continue;
        parameters_.push_back(parameter);
        own_.push_back(parameter.grad());
        others_.push_back(gradient_of(parameter));
      }
    for (size_t i = 0; i < own_.size(); ++i) parameters_[i].mutable_grad() = others_[i];
  }
  ~OtherGradients() {
    for (size_t i = 0; i < own_.size(); ++i) parameters_[i].mutable_grad() = own_[i];
  }
  OtherGradients(const OtherGradients&) = delete;
  OtherGradients& operator=(const OtherGradients&) = delete;
  const std::vector<at::Tensor>& parameters() const { return parameters_; }

 private:
  std::vector<at::Tensor> parameters_, own_, others_;
  std::set<const void*> seen_;
};

/// The one device of all updates; the CPU where there is none.
c10::Device device_of(const std::vector<Update>& updates) {
  if (updates.empty()) return c10::kCPU;
  const auto device = updates.front().parameter.device();
  for (const auto& update : updates)
    if (update.parameter.device() != device)
      refuse_tensor(
          "a parameter", update.parameter,
          fmt::format("is on {}, and another one on {}", update.parameter.device().str(), device.str()));
  return device;
}

void bump_versions(const Update& update) {
  const auto bump = [](const at::Tensor& tensor, int times) {
    for (int i = 0; i < times; ++i) tensor.unsafeGetTensorImpl()->bump_version();
  };
  bump(update.parameter, update.parameter_writes);
  for (size_t i = 0; i < update.state.size(); ++i) bump(update.state[i], update.state_writes[i]);
}

}  // namespace

Stepper::Stepper(Optimizer& optimizer, StepOptions options, std::shared_ptr<UpdateCode> code)
    : optimizer_(optimizer),
      options_(normalised(std::move(options))),
      method_(method_of(optimizer)),
      code_(code ? std::move(code) : std::make_shared<CompiledUpdateCode>(options_.options)),
      norms_(*code_),
      lowering_(options_.options),
      device_kernels_(lowering_) {
  check_options(options_);
  if (method_ || options_.options.unsupported != Unsupported::Error) return;
  throw Error(
      ErrorCode::UnsupportedArgument, "optimizer",
      fmt::format("the optimizer is a {}, of which no formula is known",
                  c10::demangle(typeid(optimizer).name())),
      "Take torch::optim::SGD, Adam, AdamW, Adagrad or RMSprop, or one of <antegrad/optimizers.h>, or set "
      "Options::unsupported to Eager to run its own step()");
}

void Stepper::step(GradientOf gradient_of, double multiplier) {
  runtime::use_one_thread_after_fork();
  ++report_.calls;
  last_ = {};
  decision_.reset();
  is_read_ = true;
  has_communicated_ = false;
  if (options_.options.backend == Backend::Eager) return step_eagerly(gradient_of, multiplier);
  std::string reason = "the optimizer's class has no formula";
  if (method_) {
    try {
      return step_compiled(gradient_of, multiplier);
    } catch (const Error& error) {
      const bool tolerated = error.code() == ErrorCode::UnsupportedTensor
                                 ? options_.options.unsupported != Unsupported::Error
                                 : error.code() == ErrorCode::Compile &&
                                       options_.options.compile_failure == CompileFailure::Eager;
      if (!tolerated || has_communicated_) throw;  // other processes do not communicate again
      reason = error.what();
    }
  }
  ++report_.eager_calls;
  append_unique(report_.eager_reasons, reason);
  step_eagerly(gradient_of, multiplier);
}

void Stepper::step_compiled(GradientOf gradient_of, double multiplier) {
  auto updates = updates_of(optimizer_, *method_, gradient_of);
  if (const auto problem = device_kernels_.problem(); device_of(updates.list).is_cuda() && !problem.empty()) {
    ++report_.eager_calls;
    append_unique(report_.eager_reasons, problem);
    return step_eagerly(gradient_of, multiplier);
  }
  at::Tensor control;
  if (device_decides(updates.list)) {
    control = control_of(updates.list, multiplier);
    scale_and_clamp(updates.list, 1);
  } else {
    const auto scale = factor(updates.list, unscaled(multiplier));
    if (!scale) return;
    scale_and_clamp(updates.list, *scale);
  }
  is_elementwise(*method_) ? run_kernels(updates, control) : run_function(updates);
}

bool Stepper::device_decides(const std::vector<Update>& updates) const {
  return device_of(updates).is_cuda() && is_elementwise(*method_) && !total_norm_ &&
         !options_.error_if_nonfinite && (options_.clip_norm || options_.skip_nonfinite);
}

at::Tensor Stepper::control_of(const std::vector<Update>& updates, double multiplier) {
  DeviceNorm norm;
  norm.type = options_.clip_norm ? options_.norm_type : std::numeric_limits<double>::infinity();
  norm.end.multiplier = multiplier;
  norm.end.most = options_.clip_norm.value_or(-1);
  norm.end.skips = options_.skip_nonfinite ? 1 : 0;
  if (options_.scaler && options_.scaler->scale.is_cuda())
    norm.end.divisor = options_.scaler->scale.const_data_ptr<float>();
  return device_control(updates, norm, device_kernels_);
}

double Stepper::unscaled(double multiplier) const {
  const auto& scaler = options_.scaler;
  return scaler && scaler->scale.is_cuda() ? multiplier / scaler->scale.item<double>() : multiplier;
}

std::unique_ptr<UpdateTable> Stepper::table_of(std::vector<Update>& updates, const at::Tensor& control) {
  if (!device_of(updates).is_cuda())
    return std::make_unique<Table>(updates, [&](const Formula& f) -> const FlatKernel& { return kernel(f); });
  return std::make_unique<DeviceTable>(updates, device_kernels_, control);
}

void Stepper::scale_and_clamp(std::vector<Update>& updates, double scale) const {
  for (auto& update : updates) {
    update.formula.scales = options_.clip_norm || options_.scaler || options_.accumulate > 1;
    update.numbers[kScale] = scale;
    update.formula.clamps = options_.clip_value.has_value();
    update.numbers[kLowest] = -options_.clip_value.value_or(0);
    update.numbers[kHighest] = options_.clip_value.value_or(0);
  }
}

void Stepper::run_kernels(Updates& updates, const at::Tensor& control) {
  std::optional<Averages> averages;
  if (options_.average) averages.emplace(optimizer_, options_.average).add_to(updates.list);
  const auto table = table_of(updates.list, control);
  std::vector<void*> made;
  for (const auto& state : updates.made) made.push_back(state.parameter);
  hand_over(std::move(updates.made), optimizer_);
  // From here on nothing fails, except for the device.
  table->run();
  last_.updated = true;
  if (control.defined()) {
    decision_.emplace(Decision{control, current_stream(control.device())});
    is_read_ = false;
    const bool counts = std::ranges::any_of(updates.list, [](const Update& update) {
      return update.steps != nullptr || update.product != nullptr;
    });
    // What is on the host has to be what it would be after such a step.
    if (options_.skip_nonfinite && (counts || averages || !made.empty()) && last().skipped) {
      for (auto* parameter : made) optimizer_.state().erase(parameter);
      return;
    }
  }
  for (const auto& update : updates.list) {
    count(update);
    bump_versions(update);
  }
  if (averages) averages->finish();
}

void Stepper::run_function(Updates& updates) {
  std::optional<Averages> averages;
  std::vector<Update> none;
  if (options_.average) averages.emplace(optimizer_, options_.average).add_to(none);
  std::vector<void*> made;
  for (const auto& state : updates.made) made.push_back(state.parameter);
  hand_over(std::move(updates.made), optimizer_);
  try {
    code_->run(updates.list);
  } catch (...) {
    for (auto* parameter : made) optimizer_.state().erase(parameter);
    throw;
  }
  for (const auto& update : updates.list) count(update);
  if (averages) averages->finish();
  last_.updated = true;
}

StepResult Stepper::last() const {
  if (!is_read_) {
    const auto read = read_control(decision_->control, decision_->stream);
    last_ = {options_.clip_norm ? read.norm : 0, read.skip != 0, read.skip == 0};
    is_read_ = true;
  }
  return last_;
}

at::Tensor Stepper::skipped() const {
  if (decision_) return skip_of(decision_->control);
  return at::full({}, last_.skipped ? 1.0 : 0.0, at::kFloat);
}

bool Stepper::may_be_made_in_parts() const {
  return method_ && is_elementwise(*method_) && options_.options.backend != Backend::Eager &&
         options_.gradients == antegrad::Gradients::Drop && !options_.clip_norm && !options_.skip_nonfinite &&
         !options_.scaler && options_.accumulate == 1;
}

bool Stepper::begin_parts(GradientOf which) {
  auto parts = std::make_unique<Parts>();
  std::vector<NewState> made;
  try {
    auto updates = updates_of(optimizer_, *method_, which);
    for (auto& update : updates.list) update.gradient = at::Tensor();
    scale_and_clamp(updates.list, 1);
    parts->list = std::move(updates.list);
    if (options_.average) parts->averages.emplace(optimizer_, options_.average).add_to(parts->list);
    parts->table = table_of(parts->list, {});
    parts->updated.resize(parts->list.size());
    for (const auto& state : updates.made) parts->made.push_back(state.parameter);
    if (!parts->table->is_one_batch()) return false;
    hand_over(std::move(updates.made), optimizer_);
  } catch (const std::exception&) {
    return false;  // step() will say why
  }
  parts_ = std::move(parts);
  return true;
}

void Stepper::for_each_part(c10::function_ref<void(const Update&)> f) const {
  for (const auto& update : parts_->list) f(update);
}

void Stepper::update_parts(c10::ArrayRef<int32_t> parts, c10::ArrayRef<at::Tensor> gradients) {
  for (size_t i = 0; i < parts.size(); ++i)
    parts_->table->set_gradient(parts[i], gradients[i].const_data_ptr());
  parts_->table->run(parts);
  for (auto part : parts) {
    count(parts_->list[part]);
    bump_versions(parts_->list[part]);
    parts_->updated[part] = true;
  }
}

void Stepper::finish_parts() {
  ++report_.calls;
  last_ = {};
  decision_.reset();
  is_read_ = true;
  if (parts_->averages) parts_->averages->finish();
  last_.updated = true;
  parts_.reset();
}

void Stepper::abandon_parts() {
  for (size_t i = 0; i < parts_->list.size(); ++i)
    if (auto* key = parts_->list[i].parameter.unsafeGetTensorImpl();
        !parts_->updated[i] && std::ranges::count(parts_->made, key) > 0)
      optimizer_.state().erase(key);
  parts_.reset();
}

void Stepper::prepare_kernels(GradientOf which) {
  if (!method_ || options_.options.backend == Backend::Eager) return;
  auto updates = updates_of(optimizer_, *method_, which);
  if (options_.clip_norm) norms_.total(updates.list, options_.norm_type);
  if (options_.skip_nonfinite) norms_.all_finite(updates.list);
  scale_and_clamp(updates.list, 1);
  std::optional<Averages> averages;
  if (options_.average) averages.emplace(optimizer_, options_.average).add_to(updates.list);
  if (!is_elementwise(*method_)) return code_->prepare(updates.list);
  for (const auto& update : updates.list) kernel(update.formula);
}

Report Stepper::report() const {
  auto report = report_;
  report.captures += code_->captures() + device_kernels_.formulas();
  return report;
}

const FlatKernel& Stepper::kernel(const Formula& formula) {
  const auto found = kernels_.find(formula);
  if (found != kernels_.end()) return found->second;
  auto made = flat_kernel(*code_->flat(graph_text(formula)));
  ++report_.captures;
  return kernels_.emplace(formula, std::move(made)).first->second;
}

std::optional<double> Stepper::factor(const std::vector<Update>& updates, double multiplier) {
  double scale = 1;
  if (options_.clip_norm) {
    const auto norm = total_norm(norm_of(updates, options_.norm_type), options_.norm_type);
    scale = clip_factor(norm * (options_.norm_type == 0 ? 1 : multiplier));
  }
  if (options_.skip_nonfinite && !is_true_everywhere(all_finite(updates))) {
    last_.skipped = true;
    return std::nullopt;
  }
  return scale * multiplier;
}

double Stepper::norm_of(const std::vector<Update>& updates, double type) {
  if (!device_of(updates).is_cuda()) return norms_.total(updates, type);
  const auto control = device_control(updates, {type, {}}, device_kernels_);
  return read_control(control, current_stream(control.device())).norm;
}

bool Stepper::all_finite(const std::vector<Update>& updates) {
  if (!device_of(updates).is_cuda()) return norms_.all_finite(updates);
  return std::isfinite(norm_of(updates, std::numeric_limits<double>::infinity()));
}

double Stepper::clip_factor(double norm) {
  last_.gradient_norm = norm;
  if (options_.error_if_nonfinite && !std::isfinite(norm))
    throw Error(ErrorCode::InvalidArgument, "optimizer", fmt::format("the norm of the gradients is {}", norm),
                "Find out where it comes from, or set StepOptions::skip_nonfinite");
  const auto wanted = *options_.clip_norm / (norm + 1e-6);
  return wanted > 1 ? 1 : wanted;  // NaN stays, as in clip_grad_norm_
}

double Stepper::total_norm(double own, double type) {
  if (!total_norm_) return own;
  has_communicated_ = true;
  return total_norm_(own, type);
}

bool Stepper::is_true_everywhere(bool here) { return total_norm(here ? 0 : 1, 1) == 0; }

std::optional<double> Stepper::factor_of_own(const std::vector<at::Tensor>& parameters) {
  double scale = 1;
  std::vector<at::Tensor> norms;
  bool finite = true;
  for (const auto& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    if (options_.clip_norm)
      norms.push_back(at::linalg_vector_norm(parameter.grad(), options_.norm_type).to(at::kDouble));
    if (options_.skip_nonfinite) finite = finite && at::isfinite(parameter.grad()).all().item<bool>();
  }
  if (options_.clip_norm) {
    const auto own =
        norms.empty() ? 0 : at::linalg_vector_norm(at::stack(norms), options_.norm_type).item<double>();
    scale = clip_factor(total_norm(own, options_.norm_type));
  }
  if (options_.skip_nonfinite && !is_true_everywhere(finite)) {
    last_.skipped = true;
    return std::nullopt;
  }
  return scale;
}

void Stepper::step_eagerly(GradientOf gradient_of, double multiplier) {
  multiplier = unscaled(multiplier);
  const bool clips = options_.clip_norm || options_.clip_value;
  const OtherGradients gradients(optimizer_, [&](const at::Tensor& parameter) {
    const auto gradient = gradient_of(parameter);
    if (!gradient.defined()) return gradient;
    return multiplier != 1 ? gradient * multiplier : clips ? gradient.clone() : gradient;
  });
  if (total_norm_) {
    const auto scale = factor_of_own(gradients.parameters());
    if (!scale) return;
    for (const auto& parameter : gradients.parameters())
      if (parameter.grad().defined() && *scale != 1) parameter.grad().mul_(*scale);
  } else if (options_.skip_nonfinite) {
    for (const auto& parameter : gradients.parameters())
      if (parameter.grad().defined() && !at::isfinite(parameter.grad()).all().item<bool>()) {
        last_.skipped = true;
        return;
      }
  }
  if (options_.clip_value) torch::nn::utils::clip_grad_value_(gradients.parameters(), *options_.clip_value);
  if (options_.clip_norm && !total_norm_)
    last_.gradient_norm = torch::nn::utils::clip_grad_norm_(gradients.parameters(), *options_.clip_norm,
                                                            options_.norm_type, options_.error_if_nonfinite);
  std::optional<Averages> averages;
  if (options_.average) averages.emplace(optimizer_, options_.average);
  optimizer_.step();
  if (averages) averages->finish();
  last_.updated = true;
}

}  // namespace antegrad::optim
