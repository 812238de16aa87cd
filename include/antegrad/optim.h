#pragma once
// Compiled steps of LibTorch's optimizers, and whole training steps: docs/training-steps.md.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "antegrad/grad.h"
#include "antegrad/options.h"

namespace torch::optim {
class Optimizer;
}
namespace antegrad::optim {
class Stepper;
class UpdateCode;
}  // namespace antegrad::optim
namespace antegrad::runtime {
class EarlyResults;
}

namespace antegrad {

/// Scales losses so that small gradients do not become zero in f16, as torch.amp.GradScaler does: halved when
/// a gradient overflows, doubled after some steps without that. Its state is tensors, to be saved with the
/// others.
struct GradScaler {
  explicit GradScaler(double initial_scale = 65536);  ///< starts with this scale
  at::Tensor scale;                                   ///< what the loss is multiplied by: f32, no dims
  at::Tensor growth_tracker;                          ///< steps since the scale changed: i32, no dims
  double growth_factor = 2;                           ///< by which the scale grows
  double backoff_factor = 0.5;                        ///< by which it shrinks
  int64_t growth_interval = 2000;                     ///< steps without an overflow after which it grows
};

/// A moving average of the parameters, as torch.optim.swa_utils.AveragedModel with get_ema_avg_fn() keeps
/// one. Its state is tensors, to be saved with the others.
struct WeightAverage {
  explicit WeightAverage(double decay = 0.999);  ///< has no averages yet
  double decay;  ///< how much of an average stays at an update; may change at any time
  /// Per parameter, in the order of the optimizer's groups, each parameter once. At its first update an
  /// average is made, or set where it is undefined, to the parameter as it is then.
  std::vector<at::Tensor> averages;
};

/// What becomes of the gradients of a training step.
enum class Gradients {
  Drop,  ///< they are freed; `.grad` stays as it is
  Keep,  ///< `.grad` of each parameter becomes its gradient
};

/// How training steps of several processes work together: docs/many-processes.md.
struct DataParallel {
  AllReduce gradients;       ///< over which processes gradients are reduced, and in which buckets
  bool broadcast = true;     ///< before the first step, parameters and buffers become those of process 0
  bool shard_state = false;  ///< each process keeps the optimizer's state of a share of the parameters
};

/// Options of compiled_step() and training_step().
struct StepOptions {
  Options options;                   ///< how code is made: backend, isa, toolchain, cache, unsupported, …
  std::optional<double> clip_norm;   ///< the most that the norm of all gradients together may be
  double norm_type = 2;              ///< which norm: 2, 1, any other positive number, or infinity
  bool error_if_nonfinite = false;   ///< with clip_norm: throws when the norm is infinite or NaN
  std::optional<double> clip_value;  ///< the most that an element of a gradient may be, in absolute value
  bool skip_nonfinite = false;       ///< leaves everything as it is when a gradient is infinite or NaN
  std::shared_ptr<WeightAverage> average;  ///< is updated after the parameters, in the same pass
  // Only for training_step():
  Gradients gradients = Gradients::Drop;  ///< what becomes of them
  int64_t accumulate = 1;  ///< every how many calls there is an update, by the mean of their gradients
  std::shared_ptr<GradScaler> scaler;         ///< scales the loss; implies skip_nonfinite
  std::optional<c10::ScalarType> autocast;    ///< runs the function with autocast to this type
  std::optional<DataParallel> data_parallel;  ///< reduces the gradients over several processes
};

/// What happened in the last step.
struct StepResult {
  double gradient_norm = 0;  ///< with clip_norm: the norm before clipping
  bool skipped = false;      ///< with skip_nonfinite: nothing was updated
  bool updated = false;      ///< parameters were updated: not skipped, and the last call of an accumulation
};

/// The step of an optimizer, compiled. Refers to the optimizer, which must outlive it and stays the owner of
/// parameters, hyperparameters and state. Not thread-safe, like the optimizer. Copies share everything.
class CompiledStep {
 public:
  /// Equivalent to compiled_step(optimizer, options).
  CompiledStep(torch::optim::Optimizer& optimizer, StepOptions options);

  /// Does what optimizer.step(closure) does, for the gradients in `.grad` and the hyperparameters that the
  /// optimizer has now. Returns what the closure returns. If it throws, nothing has changed.
  at::Tensor operator()(const std::function<at::Tensor()>& closure = nullptr) const;

  StepResult last() const;  ///< what happened in the last step
  Report report() const;    ///< calls, captures (formulas that were compiled) and eager calls

 private:
  std::shared_ptr<optim::Stepper> stepper_;
};

/// Compiles the step of a torch::optim::{SGD, Adam, AdamW, Adagrad, RMSprop}. Other classes are refused
/// (Error(UnsupportedArgument)), or keep their own step() with Options::unsupported = Eager.
CompiledStep compiled_step(torch::optim::Optimizer& optimizer, StepOptions options = {});

namespace detail {

/// What training steps need besides the user's function.
class TrainingCore {
 public:
  /// `code`: where the optimizer's step takes its code from; null for code that is compiled.
  TrainingCore(torch::optim::Optimizer& optimizer, StepOptions options,
               std::shared_ptr<optim::UpdateCode> code = nullptr);
  ~TrainingCore();

  const Options& options() const;
  /// How many lists of parameters are told apart, the newest ones.
  static constexpr size_t kMostLists = 8;
  /// Checks the parameters. Returns a number that stands for their list and the scaler's scale; new ones
  /// grow.
  int64_t prepare();
  /// Throws Error(InvalidArgument) for a parameter of the optimizer, and for what was computed from one.
  void check_argument(const at::Tensor& argument) const;
  /// Enables gradients and autocast until the result is destroyed.
  std::shared_ptr<void> enter() const;
  /// Returns the gradients of the first tensor with respect to the parameters.
  std::vector<at::Tensor> gradients_of(c10::ArrayRef<at::Tensor> results) const;
  /// Takes gradients before the end of a call, where parameters can be updated then.
  std::shared_ptr<runtime::EarlyResults> early() const;
  /// Updates the parameters, or accumulates for a later call. What was taken early is undefined.
  void finish(const std::vector<at::Tensor>& gradients);
  void gather_state() const;  ///< as TrainingStep::gather_state()
  /// In a handler of an exception of a call: throws another one when parameters were updated before it.
  void fail();
  StepResult last() const;
  Report step_report() const;
  struct Impl;
  Impl& impl() const { return *impl_; }  ///< for packages

 private:
  std::unique_ptr<Impl> impl_;
};

/// Calls F and differentiates its first result.
template <class F>
struct LossAndGradients {
  std::shared_ptr<F> function;
  std::shared_ptr<TrainingCore> core;

  template <class... Args>
  auto operator()(Args&... args) {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, Args&...>>;
    const auto inside = core->enter();
    const Result result = (*function)(args...);
    Leaves leaves;
    flatten(result, leaves);
    auto gradients = core->gradients_of(leaves.tensors);
    std::vector<at::Tensor> detached;
    for (const auto& tensor : leaves.tensors) detached.push_back(tensor.defined() ? tensor.detach() : tensor);
    LeafReader reader(detached);
    return std::pair<std::vector<at::Tensor>, Result>(std::move(gradients), rebuild(result, reader));
  }
};
template <class F>
struct Parameters<LossAndGradients<F>> : Parameters<F> {};

}  // namespace detail

/// A function that computes a loss, differentiated and followed by the step of an optimizer. Refers to the
/// optimizer, which must outlive it. Not thread-safe. Copies share everything.
template <class F>
class TrainingStep {
 public:
  /// Equivalent to training_step(loss_fn, optimizer, options).
  TrainingStep(F loss_fn, torch::optim::Optimizer& optimizer, StepOptions options)
      : state_(std::make_shared<State>(
            State{std::make_shared<F>(std::move(loss_fn)),
                  std::make_shared<detail::TrainingCore>(optimizer, std::move(options)),
                  {},
                  -1})) {}

  /// Calls the function, computes gradients, clips, updates. Returns what the function returns, without
  /// history. If it throws, parameters and the optimizer's state are as they were.
  template <class... Args>
  auto operator()(Args&&... args) const {
    auto& state = *state_;
    state.list = state.core->prepare();
    const auto& compiled = compiled_for(state);
    (check(args), ...);
    auto [gradients, result] = gradients_of(state, compiled, std::forward<Args>(args)...);
    state.core->finish(gradients);
    return result;
  }

  StepResult last() const { return state_->core->last(); }  ///< what happened in the last call
  /// Of the function with its gradients, for the list of parameters of the last call; empty before the first
  /// call.
  Report report() const {
    const auto found = state_->compiled.find(state_->list);
    return found != state_->compiled.end() ? found->second.report() : Report();
  }
  Report step_report() const { return state_->core->step_report(); }  ///< as CompiledStep::report()
  /// With DataParallel::shard_state, gives the optimizer the state of all parameters until the next call, to
  /// save it or to go on in another way. All processes have to call it.
  void gather_state() const { state_->core->gather_state(); }

  // For package().
  const std::shared_ptr<detail::TrainingCore>& training() const { return state_->core; }
  /// Loss and gradients of the last call; null before the first one.
  std::shared_ptr<detail::Function> core() const {
    const auto found = state_->compiled.find(state_->list);
    return found != state_->compiled.end() ? found->second.core() : nullptr;
  }

 private:
  using Compiled = detail::WithoutHistory<detail::LossAndGradients<F>>;
  struct State {
    std::shared_ptr<F> function;
    std::shared_ptr<detail::TrainingCore> core;
    std::map<int64_t, Compiled> compiled;  ///< by number of TrainingCore::prepare()
    int64_t list;                          ///< that of the last call
  };
  static const Compiled& compiled_for(State& state) {
    auto& all = state.compiled;
    if (const auto found = all.find(state.list); found != all.end()) return found->second;
    if (all.size() == detail::TrainingCore::kMostLists) all.erase(all.begin());
    const detail::LossAndGradients<F> function{state.function, state.core};
    const auto& made = all.try_emplace(state.list, function, state.core->options()).first->second;
    made.core()->hand_results_to(state.core->early());
    return made;
  }
  template <class... Args>
  static auto gradients_of(const State& state, const Compiled& compiled, Args&&... args) {
    try {
      return compiled(std::forward<Args>(args)...);
    } catch (...) {
      state.core->fail();
      throw;
    }
  }
  template <class T>
  void check(const T& argument) const {
    Leaves leaves;
    if constexpr (detail::kIsReference<T>)
      flatten(detail::owned(argument), leaves);
    else if constexpr (!detail::kIsDonated<T>)  // nobody else refers to that
      flatten(argument, leaves);
    for (const auto& tensor : leaves.tensors) state_->core->check_argument(tensor);
  }

  std::shared_ptr<State> state_;
};

/// Compiles a whole training step. The function returns the loss (a tensor of one element), or a tuple or
/// struct whose first tensor it is.
template <class F>
TrainingStep<F> training_step(F loss_fn, torch::optim::Optimizer& optimizer, StepOptions options = {}) {
  return {std::move(loss_fn), optimizer, std::move(options)};
}

}  // namespace antegrad
