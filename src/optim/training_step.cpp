#include <ATen/autocast_mode.h>
#include <ATen/ops/_amp_update_scale.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antegrad/error.h"
#include "antegrad/optim.h"
#include "optim/parameter_gradients.h"
#include "optim/training_core.h"

namespace antegrad {
namespace {

/// Autocast to a type on one kind of device, for its lifetime.
class Autocast {
 public:
  Autocast(at::DeviceType device, at::ScalarType type)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        type_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, type);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, type_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType type_;
};

struct Inside {
  at::AutoGradMode grad_mode{true};
  std::optional<Autocast> autocast;
};

void check_sharding(const StepOptions& options) {
  if (options.average)
    throw Error(ErrorCode::InvalidArgument, "options",
                "DataParallel::shard_state is set together with StepOptions::average, which reads all "
                "parameters while they are updated",
                "Keep the average in a compiled_step of its own, or leave shard_state off");
  if (options.gradients == Gradients::Keep)
    throw Error(ErrorCode::InvalidArgument, "options",
                "DataParallel::shard_state is set together with Gradients::Keep, but a process has the "
                "gradients of its share only",
                "Leave shard_state off, or drop the gradients");
}

/// LibTorch would find out after the update.
void check_number(const char* what, const at::Tensor& tensor, at::ScalarType type) {
  if (tensor.defined() && tensor.numel() == 1 && tensor.scalar_type() == type) return;
  throw Error(
      ErrorCode::InvalidArgument, "options",
      tensor.defined() ? fmt::format("the {} of the scaler has type {} and sizes {}", what,
                                     c10::toString(tensor.scalar_type()), c10::str(tensor.sizes()))
                       : fmt::format("the {} of the scaler is undefined", what),
      fmt::format("Make it with GradScaler(65536), or load a {} of one element", c10::toString(type)));
}

void check_training(const StepOptions& options) {
  if (options.accumulate < 1)
    throw Error(ErrorCode::InvalidArgument, "options", fmt::format("accumulate is {}", options.accumulate),
                "It is the number of calls per update, at least 1");
  if (options.scaler != nullptr) {
    check_number("scale", options.scaler->scale, at::kFloat);
    check_number("growth_tracker", options.scaler->growth_tracker, at::kInt);
  }
  if (options.options.gradients)
    throw Error(ErrorCode::InvalidArgument, "options",
                "Options::gradients is set, which reduces gradients of backward passes only",
                "Set StepOptions::data_parallel");
  if (const auto& how = options.data_parallel;
      how && (how->gradients.bucket_bytes < 1 || how->gradients.size < 1))
    throw Error(ErrorCode::InvalidArgument, "options",
                fmt::format("StepOptions::data_parallel has buckets of {} bytes and {} processes",
                            how->gradients.bucket_bytes, how->gradients.size),
                "Make it of a group, with buckets of at least one byte");
  if (options.data_parallel && options.data_parallel->shard_state) check_sharding(options);
}

std::vector<at::Tensor> all_parameters(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> all;
  for (const auto& group : optimizer.param_groups())
    all.insert(all.end(), group.params().begin(), group.params().end());
  return all;
}

}  // namespace

GradScaler::GradScaler(double initial_scale)
    : scale(torch::full({}, initial_scale, at::kFloat)), growth_tracker(torch::zeros({}, at::kInt)) {}

namespace detail {

TrainingCore::TrainingCore(torch::optim::Optimizer& optimizer, StepOptions options,
                           std::shared_ptr<optim::UpdateCode> code) {
  check_training(options);
  if (options.scaler) options.skip_nonfinite = true;
  impl_ = std::make_unique<Impl>(optimizer, std::move(options), std::move(code));
}
TrainingCore::~TrainingCore() = default;

const Options& TrainingCore::options() const { return impl_->options().options; }
StepResult TrainingCore::last() const { return impl_->has_updated ? impl_->stepper.last() : StepResult(); }
Report TrainingCore::step_report() const { return impl_->stepper.report(); }

int64_t TrainingCore::prepare() {
  if (inside_function())
    throw Error(ErrorCode::UnsupportedOp, "training_step",
                "a training step is called inside a compiled function", "Call it outside");
  auto [now, repeats] = impl_->trained_now();
  for (const auto& parameter : now) optim::refuse_hooks(parameter);
  check_training(impl_->options());
  const auto scale = impl_->options().scaler ? impl_->options().scaler->scale : at::Tensor();
  if (const auto list = impl_->number_of(now, scale); list != impl_->list) {
    if (impl_->shares) impl_->shares->assign(now);
    if (impl_->reduction) impl_->reduction->set_parameters(now, all_parameters(impl_->stepper.optimizer()));
    impl_->replace_parameters(std::move(now));
    impl_->list = list;
  }
  impl_->early->reset(repeats);
  if (impl_->reduction) impl_->reduction->start(impl_->is_last_call() ? &impl_->accumulated : nullptr);
  return impl_->list;
}

std::pair<std::vector<at::Tensor>, bool> TrainingCore::Impl::trained_now() const {
  std::vector<at::Tensor> now;
  std::unordered_set<const void*> seen;
  bool repeats = false;
  for (const auto& group : stepper.optimizer().param_groups())
    for (const auto& parameter : group.params()) {
      if (!parameter.requires_grad()) continue;
      const bool is_new = seen.insert(parameter.unsafeGetTensorImpl()).second;
      repeats = repeats || !is_new;
      if (is_new) now.push_back(parameter);
    }
  return {std::move(now), repeats};
}

int64_t TrainingCore::Impl::number_of(const std::vector<at::Tensor>& now, const at::Tensor& scale) {
  const auto is_same = [](const at::Tensor& parameter, const auto& known) {
    return parameter.unsafeGetTensorImpl() == known._unsafe_get_target();
  };
  for (const auto& known : lists)
    if (known.scale.is_same(scale) && std::ranges::equal(now, known.parameters, is_same)) return known.number;
  if (lists.size() == kMostLists) lists.pop_front();
  auto& added = lists.emplace_back(lists.empty() ? list + 1 : lists.back().number + 1);
  for (const auto& parameter : now) added.parameters.emplace_back(parameter.getIntrusivePtr());
  added.scale = scale;
  return added.number;
}

void TrainingCore::check_argument(const at::Tensor& argument) const {
  if (!argument.defined() || !argument.requires_grad()) return;
  const auto refuse = [](const std::string& fact, const char* way_out) {
    throw Error(ErrorCode::InvalidArgument, "training_step", fact, way_out);
  };
  for (const auto& parameter : impl_->parameters)
    if (parameter.is_same(argument))
      refuse(fmt::format("the parameter of sizes {} is passed as an argument, where it would get no gradient",
                         c10::str(argument.sizes())),
             "Let the function capture it, or pass the module that has it");
  if (argument.grad_fn() == nullptr) return;
  if (const auto* parameter = optim::leaf_of(argument, impl_->parameters))
    refuse(fmt::format("an argument of sizes {} was computed from the parameter of sizes {}, which would get "
                       "no gradient through it",
                       c10::str(argument.sizes()), c10::str(parameter->sizes())),
           "Compute it inside the function, or pass its detach()");
}

std::shared_ptr<void> TrainingCore::enter() const {
  auto inside = std::make_shared<Inside>();
  if (const auto type = impl_->options().autocast) {
    const auto& parameters = impl_->parameters;
    inside->autocast.emplace(parameters.empty() ? at::kCPU : parameters[0].device().type(), *type);
  }
  return inside;
}

std::vector<at::Tensor> TrainingCore::gradients_of(c10::ArrayRef<at::Tensor> results) const {
  if (results.empty() || !results[0].defined() || results[0].numel() != 1)
    throw Error(ErrorCode::InvalidArgument, "training_step",
                results.empty() || !results[0].defined()
                    ? "the function returns no tensor"
                    : fmt::format("the first tensor that the function returns has sizes {}",
                                  c10::str(results[0].sizes())),
                "Return the loss first: a tensor of one element, such as a mean()");
  const auto refuse = [](const char* fact, const char* way_out) {
    throw Error(ErrorCode::InvalidArgument, "training_step", fact, way_out);
  };
  if (impl_->parameters.empty())
    refuse("no parameter of the optimizer requires gradients", "Unfreeze some of them, or call the function");
  constexpr auto* kGiveOthers = "Give the optimizer the parameters that the function uses";
  auto loss = results[0];
  if (!loss.requires_grad()) refuse("the loss depends on no parameter of the optimizer", kGiveOthers);
  if (const auto& scaler = impl_->options().scaler) loss = loss * scaler->scale;
  auto gradients = torch::autograd::grad({loss}, impl_->parameters, {}, false, false, /*allow_unused=*/true);
  if (std::ranges::none_of(gradients, [](const auto& gradient) { return gradient.defined(); }))
    refuse("the loss depends on no parameter of the optimizer", kGiveOthers);
  return gradients;
}

std::shared_ptr<runtime::EarlyResults> TrainingCore::early() const {
  if (impl_->reduction) return impl_->reduction;
  return impl_->early;
}

void TrainingCore::fail() {
  if (impl_->reduction) impl_->reduction->abandon();
  try {
    throw;
  } catch (const std::exception& error) {
    impl_->early->fail(error.what());
  } catch (...) {
    impl_->early->fail("an exception that is no std::exception");
  }
}

void TrainingCore::finish(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  impl_->had_gradients.clear();
  for (const auto& gradient : gradients) impl_->had_gradients.push_back(gradient.defined());
  impl_->has_updated = impl_->early->finish();
  if (impl_->has_updated) return;
  const bool is_last = impl_->is_last_call();
  // When the update throws, the next call takes the place of this one.
  if (impl_->reduction && is_last) {
    impl_->update_reduced(impl_->reduction->finish(gradients));
    impl_->accumulated.clear();
    impl_->set_aside.clear();
    impl_->calls = 0;
    return;
  }
  if (impl_->options().accumulate == 1 && impl_->options().gradients == antegrad::Gradients::Drop)
    return impl_->update(optim::gradients_apart(gradients));
  const auto own = optim::own_gradients(gradients, impl_->parameters);
  if (impl_->options().accumulate == 1) return impl_->update(own);
  auto sums = impl_->sums_with(own);
  if (is_last) impl_->update(sums);
  impl_->accumulated = is_last ? std::vector<at::Tensor>() : std::move(sums);
  impl_->calls = is_last ? 0 : impl_->calls + 1;
  if (is_last) impl_->set_aside.clear();
}

void TrainingCore::gather_state() const {
  if (impl_->shares) impl_->shares->gather(impl_->stepper.optimizer(), *impl_->stepper.method());
}

void TrainingCore::Impl::shard(const std::string& group) {
  if (!stepper.method())
    throw Error(ErrorCode::UnsupportedArgument, "training_step",
                "the optimizer's state cannot be sharded, since no formula of its class is known",
                "Leave DataParallel::shard_state off, or take another optimizer");
  shares.emplace(group);
  stepper.set_total_norm([this](double own, double type) { return shares->total_norm(own, type); });
}

void TrainingCore::Impl::update_reduced(const std::vector<at::Tensor>& gradients) {
  if (!shares) return update(gradients);
  try {
    shares->drop_others(stepper.optimizer());
    update(gradients);
    reduction->share_parameters(stepper.last().updated);
  } catch (...) {
    reduction->abandon();
    throw;
  }
}

/// Gradients accumulated so far stay those of their parameters, also while these are frozen.
void TrainingCore::Impl::replace_parameters(std::vector<at::Tensor> now) {
  for (size_t i = 0; i < accumulated.size(); ++i)
    if (accumulated[i].defined()) set_aside.emplace_back(parameters[i], accumulated[i]);
  accumulated.clear();
  for (const auto& parameter : now) {
    const auto found =
        std::ranges::find_if(set_aside, [&](const auto& pair) { return pair.first.is_same(parameter); });
    accumulated.push_back(found != set_aside.end() ? found->second : at::Tensor());
    if (found != set_aside.end()) set_aside.erase(found);
  }
  parameters = std::move(now);
  early->set_parameters(parameters);
}

std::vector<at::Tensor> TrainingCore::Impl::sums_with(const std::vector<at::Tensor>& gradients) const {
  auto sums = accumulated;
  sums.resize(gradients.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!gradients[i].defined()) continue;
    sums[i] = sums[i].defined() ? sums[i] + gradients[i] : gradients[i];
  }
  return sums;
}

void TrainingCore::Impl::update(const std::vector<at::Tensor>& gradients) {
  std::unordered_map<const void*, const at::Tensor*> of;
  for (size_t i = 0; i < parameters.size(); ++i) of[parameters[i].unsafeGetTensorImpl()] = &gradients[i];
  const auto gradient_of = [&](const at::Tensor& parameter) {
    const auto found = of.find(parameter.unsafeGetTensorImpl());
    return found == of.end() ? at::Tensor() : *found->second;
  };
  const auto& scaler = options().scaler;
  double factor = 1 / static_cast<double>(options().accumulate);
  at::Tensor unscale;  // where that is not known on the host
  if (scaler && scaler->scale.is_cuda()) {
    if (options().gradients == antegrad::Gradients::Keep) unscale = scaler->scale.reciprocal();
  } else if (scaler) {
    factor /= scaler->scale.item<double>();
  }
  stepper.step(gradient_of, factor);
  has_updated = true;
  if (scaler)
    at::_amp_update_scale_(scaler->scale, scaler->growth_tracker,
                           stepper.skipped().to(scaler->scale.device()), scaler->growth_factor,
                           scaler->backoff_factor, scaler->growth_interval);
  if (options().gradients == antegrad::Gradients::Keep) keep(gradient_of, factor, unscale);
}

/// As after zero_grad() and backward(): parameters that are frozen have none.
void TrainingCore::Impl::keep(optim::GradientOf gradient_of, double factor, const at::Tensor& unscale) {
  for (auto& group : stepper.optimizer().param_groups())
    for (auto& parameter : group.params()) {
      auto gradient = gradient_of(parameter);
      if (gradient.defined() && factor != 1) gradient = gradient * factor;
      if (gradient.defined() && unscale.defined()) gradient = gradient * unscale;
      parameter.mutable_grad() = gradient;
    }
}

}  // namespace detail
}  // namespace antegrad
