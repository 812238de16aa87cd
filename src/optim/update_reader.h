#pragma once
#include <torch/optim/optimizer.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "optim/updates.h"

namespace antegrad::optim {

/// State to begin with.
at::Tensor zeros_for(const at::Tensor& parameter);
/// Returns whether kernels can read the tensor.
bool is_plain(const at::Tensor& tensor);
[[noreturn]] void refuse_tensor(const char* what, const at::Tensor& tensor, const std::string& why);

/// Reads an optimizer of one method, group by group.
class UpdateReader {
 public:
  /// `plain`: refuses tensors that kernels cannot update. `parameters`: how many there are.
  UpdateReader(torch::optim::Optimizer& optimizer, Method method, bool plain, size_t parameters)
      : optimizer_(optimizer), method_(method), plain_(plain) {
    out_.list.reserve(parameters);
    rounds_.reserve(parameters);
  }

  void add(torch::optim::OptimizerOptions& options, const at::Tensor& parameter, const at::Tensor& gradient);
  Updates take();

 private:
  void check(const at::Tensor& parameter, const at::Tensor& gradient) const;
  void check_state(const Update& update) const;
  void check_copies() const;
  void fill(torch::optim::OptimizerOptions& options, Update& update);

  // Of LibTorch (updates.cpp): they follow its step() line by line.
  template <class Options>
  void sgd(const Options& options, Update& update);
  template <class State, class Options>
  void adam(const Options& options, Update& update);
  template <class Options>
  void adagrad(const Options& options, Update& update);
  template <class Options>
  void rms_prop(const Options& options, Update& update);
  // Of <antegrad/optimizers.h> (own_updates.cpp).
  void fill_own(torch::optim::OptimizerOptions& options, Update& update);
  template <class Options>
  void lion(const Options& options, Update& update);
  template <class Options>
  void nadam(const Options& options, Update& update);
  template <class Options>
  void lamb(const Options& options, Update& update);
  template <class Options>
  void adafactor(const Options& options, Update& update);
  template <class Options>
  void muon(const Options& options, Update& update);

  /// Returns the state of a parameter, or one that make() fills.
  template <class State, class Make>
  State& state_of(const at::Tensor& parameter, Make make) {
    auto* key = parameter.unsafeGetTensorImpl();
    if (const auto found = optimizer_.state().find(key); found != optimizer_.state().end())
      return static_cast<State&>(*found->second);
    for (auto& made : out_.made)
      if (made.parameter == key && rounds_[key] > 1) return static_cast<State&>(*made.state);
    auto state = std::make_unique<State>();
    make(*state);
    out_.made.push_back({key, std::move(state)});
    return static_cast<State&>(*out_.made.back().state);
  }

  /// Takes the counter of a state; returns the number of this step, from 1.
  template <class State>
  static int64_t count(State& state, Update& update) {
    update.steps = &state.step();
    return state.step() + 1 + update.round;
  }

  /// Weight decay through the gradient.
  static void decay(double weight_decay, Update& update) {
    update.formula.decays = weight_decay != 0;
    update.numbers[kDecay] = weight_decay;
  }
  static void decay_decoupled(double lr, double weight_decay, Update& update) {
    update.formula.decays = weight_decay != 0;
    update.formula.decoupled = true;
    update.numbers[kDecay] = 1 - lr * weight_decay;
  }

  /// Sets the numbers of two moving averages and their bias corrections.
  void set_betas(const std::tuple<double, double>& betas, int64_t step, Update& update);

  torch::optim::Optimizer& optimizer_;
  const Method method_;
  const bool plain_;
  Updates out_;
  /// Gradients of which updates have copies in another layout, and their number among the updates.
  std::vector<std::pair<at::Tensor, size_t>> copied_;
  std::unordered_map<const void*, int> rounds_;  ///< updates so far, per parameter
  // Neighbours nearly always have the same betas and steps, and powers take time.
  int64_t step_ = -1;
  double beta1_ = 0, beta2_ = 0, correction1_ = 0, root_of_correction2_ = 0;
};

}  // namespace antegrad::optim
