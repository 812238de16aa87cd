#pragma once
// Optimizers that LibTorch's C++ library lacks, as torch::optim::Optimizers: docs/training-steps.md.
#include <torch/optim/optimizer.h>
#include <torch/optim/serialize.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace antegrad {

namespace detail {

/// Writes and reads what Derived::each() lists: calls of a visitor with the name of each field and the field.
template <class Derived, class Base>
struct Listed : Base {
  void serialize(torch::serialize::OutputArchive& archive) const override {
    Derived::each(static_cast<const Derived&>(*this), [&]<class T>(const char* name, const T& field) {
      if constexpr (std::is_same_v<T, at::Tensor>)
        if (!field.defined()) return;
      archive.write(name, torch::IValue(field));
    });
  }
  void serialize(torch::serialize::InputArchive& archive) override {
    Derived::each(static_cast<Derived&>(*this), [&]<class T>(const char* name, T& field) {
      torch::IValue value;
      if (archive.try_read(name, value)) field = value.to<T>();
    });
  }
};

template <class Derived>
struct ListedOptions : Listed<Derived, torch::optim::OptimizerCloneableOptions<Derived>> {
  double get_lr() const override { return static_cast<const Derived&>(*this).lr(); }
  void set_lr(double lr) override { static_cast<Derived&>(*this).lr(lr); }
};

template <class Derived>
using ListedState = Listed<Derived, torch::optim::OptimizerCloneableParamState<Derived>>;

/// Does a step of one of the optimizers below, op by op.
at::Tensor step_op_by_op(torch::optim::Optimizer& optimizer,
                         const torch::optim::Optimizer::LossClosure& closure);

/// What the optimizers below have in common. `Options::check()` and `check_parameter()` throw c10::Error.
template <class Options, class State>
class ListedOptimizer : public torch::optim::Optimizer {
 public:
  explicit ListedOptimizer(const std::vector<torch::optim::OptimizerParamGroup>& groups,
                           Options defaults = {})
      : Optimizer(groups, std::make_unique<Options>(defaults)) {
    defaults.check();
    for (const auto& group : param_groups())
      for (const auto& parameter : group.params()) Options::check_parameter(parameter);
  }
  explicit ListedOptimizer(std::vector<at::Tensor> parameters, Options defaults = {})
      : ListedOptimizer(std::vector<torch::optim::OptimizerParamGroup>{torch::optim::OptimizerParamGroup(
                            std::move(parameters))},
                        std::move(defaults)) {}

  at::Tensor step(LossClosure closure = nullptr) override { return step_op_by_op(*this, closure); }
  void save(torch::serialize::OutputArchive& archive) const override {
    torch::optim::serialize<State, Options>(archive, *this);
  }
  void load(torch::serialize::InputArchive& archive) override {
    torch::optim::serialize<State, Options>(archive, *this);
  }
};

}  // namespace detail

// --- Lion: Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023

/// Hyperparameters of Lion, with the defaults of the paper.
struct LionOptions : detail::ListedOptions<LionOptions> {
  using betas_t = std::tuple<double, double>;
  LionOptions(double lr = 1e-4) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(betas_t, betas) = {0.9, 0.99};  ///< of the update, of the state
  TORCH_ARG(double, weight_decay) = 0;      ///< decoupled, as in AdamW

 public:
  void check() const;
  static void check_parameter(const at::Tensor&) {}
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("lr", self.lr_), f("betas", self.betas_), f("weight_decay", self.weight_decay_);
  }
};
/// State of Lion.
struct LionParamState : detail::ListedState<LionParamState> {
  TORCH_ARG(at::Tensor, exp_avg);  ///< average of gradients

 public:
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("exp_avg", self.exp_avg_);
  }
};
/// Steps of one length along the signs of an average of gradients.
class Lion : public detail::ListedOptimizer<LionOptions, LionParamState> {
  using ListedOptimizer::ListedOptimizer;
};

// --- NAdam: Dozat, "Incorporating Nesterov Momentum into Adam", 2016

/// Hyperparameters of NAdam, with the names and defaults of torch.optim.NAdam.
struct NAdamOptions : detail::ListedOptions<NAdamOptions> {
  using betas_t = std::tuple<double, double>;
  NAdamOptions(double lr = 2e-3) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(betas_t, betas) = {0.9, 0.999};
  TORCH_ARG(double, eps) = 1e-8;
  TORCH_ARG(double, weight_decay) = 0;
  TORCH_ARG(double, momentum_decay) = 4e-3;
  TORCH_ARG(bool, decoupled_weight_decay) = false;

 public:
  void check() const;
  static void check_parameter(const at::Tensor&) {}
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("lr", self.lr_), f("betas", self.betas_), f("eps", self.eps_), f("weight_decay", self.weight_decay_);
    f("momentum_decay", self.momentum_decay_), f("decoupled_weight_decay", self.decoupled_weight_decay_);
  }
};
/// State of NAdam.
struct NAdamParamState : detail::ListedState<NAdamParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(double, mu_product) = 1;  ///< of the momenta of all steps
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("step", self.step_), f("mu_product", self.mu_product_);
    f("exp_avg", self.exp_avg_), f("exp_avg_sq", self.exp_avg_sq_);
  }
};
/// Adam with Nesterov's momentum.
class NAdam : public detail::ListedOptimizer<NAdamOptions, NAdamParamState> {
  using ListedOptimizer::ListedOptimizer;
};

// --- LAMB: You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", 2019

/// Hyperparameters of Lamb, with the defaults of the paper.
struct LambOptions : detail::ListedOptions<LambOptions> {
  using betas_t = std::tuple<double, double>;
  LambOptions(double lr = 1e-3) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(betas_t, betas) = {0.9, 0.999};
  TORCH_ARG(double, eps) = 1e-6;
  TORCH_ARG(double, weight_decay) = 0.01;

 public:
  void check() const;
  static void check_parameter(const at::Tensor&) {}
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("lr", self.lr_), f("betas", self.betas_), f("eps", self.eps_), f("weight_decay", self.weight_decay_);
  }
};
/// State of Lamb.
struct LambParamState : detail::ListedState<LambParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, exp_avg);
  TORCH_ARG(at::Tensor, exp_avg_sq);

 public:
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("step", self.step_), f("exp_avg", self.exp_avg_), f("exp_avg_sq", self.exp_avg_sq_);
  }
};
/// AdamW whose update of a parameter is as long as the parameter times the learning rate (the paper's
/// algorithm 2, with the identity as φ). The ratio of the lengths is 1 where one of them is 0.
class Lamb : public detail::ListedOptimizer<LambOptions, LambParamState> {
  using ListedOptimizer::ListedOptimizer;
};

// --- Adafactor: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018

/// Hyperparameters of Adafactor, with the names and defaults of torch.optim.Adafactor.
struct AdafactorOptions : detail::ListedOptions<AdafactorOptions> {
  AdafactorOptions(double lr = 1e-2) : lr_(lr) {}
  TORCH_ARG(double, lr);  ///< the most that the relative step size may be
  TORCH_ARG(double, beta2_decay) = -0.8;
  TORCH_ARG(std::optional<double>, eps1);  ///< none: the distance from 1 to the next number of the type
  TORCH_ARG(double, eps2) = 1e-3;
  TORCH_ARG(double, d) = 1;  ///< the most that the root mean square of an update may be
  TORCH_ARG(double, weight_decay) = 0;

 public:
  void check() const;
  static void check_parameter(const at::Tensor&) {}
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("lr", self.lr_), f("beta2_decay", self.beta2_decay_), f("eps1", self.eps1_), f("eps2", self.eps2_);
    f("d", self.d_), f("weight_decay", self.weight_decay_);
  }
};
/// State of Adafactor: averages of squared gradients over rows and columns, of vectors of each element.
struct AdafactorParamState : detail::ListedState<AdafactorParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(at::Tensor, row_var);
  TORCH_ARG(at::Tensor, col_var);
  TORCH_ARG(at::Tensor, variance);

 public:
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("step", self.step_), f("row_var", self.row_var_), f("col_var", self.col_var_);
    f("variance", self.variance_);
  }
};
/// Adaptive steps whose state for a matrix is a row and a column, as torch.optim.Adafactor makes them.
class Adafactor : public detail::ListedOptimizer<AdafactorOptions, AdafactorParamState> {
  using ListedOptimizer::ListedOptimizer;
};

// --- Muon: Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024

/// By what Muon multiplies the learning rate, for a matrix of n rows and m columns.
enum class MuonRate : int64_t {
  Original,       ///< √max(1, n/m)
  MatchRmsAdamW,  ///< 0.2 √max(n, m): learning rates and weight decays of AdamW can be kept
};

/// Hyperparameters of Muon, with the names and defaults of torch.optim.Muon.
struct MuonOptions : detail::ListedOptions<MuonOptions> {
  using coefficients_t = std::tuple<double, double, double>;  ///< of a X + (b A + c A A) X, A = X Xᵀ
  MuonOptions(double lr = 1e-3) : lr_(lr) {}
  TORCH_ARG(double, lr);
  TORCH_ARG(double, weight_decay) = 0.1;
  TORCH_ARG(double, momentum) = 0.95;
  TORCH_ARG(bool, nesterov) = true;
  TORCH_ARG(coefficients_t, ns_coefficients) = {3.4445, -4.7750, 2.0315};
  TORCH_ARG(double, eps) = 1e-7;
  TORCH_ARG(int64_t, ns_steps) = 5;
  TORCH_ARG(MuonRate, adjust_lr) = MuonRate::Original;
  TORCH_ARG(at::ScalarType, ns_dtype) = at::kBFloat16;  ///< in which the iteration is computed

 public:
  void check() const;
  static void check_parameter(const at::Tensor& parameter);
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("lr", self.lr_), f("weight_decay", self.weight_decay_), f("momentum", self.momentum_);
    f("nesterov", self.nesterov_), f("ns_coefficients", self.ns_coefficients_), f("eps", self.eps_);
    f("ns_steps", self.ns_steps_), number(self.adjust_lr_, "adjust_lr", f);
    number(self.ns_dtype_, "ns_dtype", f);
  }

 private:
  /// An enumeration as an integer.
  template <class T, class F>
  static void number(T& field, const char* name, const F& f) {
    auto value = static_cast<int64_t>(field);
    f(name, value);
    if constexpr (!std::is_const_v<T>) field = static_cast<T>(value);
  }
};
/// State of Muon.
struct MuonParamState : detail::ListedState<MuonParamState> {
  TORCH_ARG(at::Tensor, momentum_buffer);

 public:
  template <class Self, class F>
  static void each(Self& self, const F& f) {
    f("momentum_buffer", self.momentum_buffer_);
  }
};
/// Momentum that Newton and Schulz's iteration makes orthogonal, for matrices only, as torch.optim.Muon does.
class Muon : public detail::ListedOptimizer<MuonOptions, MuonParamState> {
  using ListedOptimizer::ListedOptimizer;
};

}  // namespace antegrad
