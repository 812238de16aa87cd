#pragma once
// One optimizer twice, on equal parameters with equal gradients: one makes LibTorch's steps, one compiled
// ones. Everything that can be seen must be equal after each of them. LibTorch rounds half types after each
// op, which a step amplifies: kernels, which do not, are compared with LibTorch's step in double.
#include <antegrad/optim.h>
#include <antegrad/optimizers.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "support/closeness.h"

namespace antegrad::test {

using MakeOptimizer =
    std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::optim::OptimizerParamGroup>)>;

/// What an optimizer keeps for one parameter.
struct SeenState {
  bool exists = false;
  int64_t steps = 0;
  std::vector<at::Tensor> tensors;
};

inline SeenState state_of(torch::optim::Optimizer& optimizer, const at::Tensor& parameter) {
  const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
  if (found == optimizer.state().end()) return {};
  namespace to = torch::optim;
  auto* state = found->second.get();
  if (auto* s = dynamic_cast<to::SGDParamState*>(state)) return {true, 0, {s->momentum_buffer()}};
  if (auto* s = dynamic_cast<to::AdamParamState*>(state))
    return {true, s->step(), {s->exp_avg(), s->exp_avg_sq(), s->max_exp_avg_sq()}};
  if (auto* s = dynamic_cast<to::AdamWParamState*>(state))
    return {true, s->step(), {s->exp_avg(), s->exp_avg_sq(), s->max_exp_avg_sq()}};
  if (auto* s = dynamic_cast<to::AdagradParamState*>(state)) return {true, s->step(), {s->sum()}};
  if (auto* s = dynamic_cast<to::RMSpropParamState*>(state))
    return {true, s->step(), {s->square_avg(), s->momentum_buffer(), s->grad_avg()}};
  namespace own = antegrad;
  if (auto* s = dynamic_cast<own::LionParamState*>(state)) return {true, 0, {s->exp_avg()}};
  if (auto* s = dynamic_cast<own::NAdamParamState*>(state))
    return {
        true, s->step(), {s->exp_avg(), s->exp_avg_sq(), at::scalar_tensor(s->mu_product(), at::kDouble)}};
  if (auto* s = dynamic_cast<own::LambParamState*>(state))
    return {true, s->step(), {s->exp_avg(), s->exp_avg_sq()}};
  if (auto* s = dynamic_cast<own::AdafactorParamState*>(state))
    return {true, s->step(), {s->row_var(), s->col_var(), s->variance()}};
  if (auto* s = dynamic_cast<own::MuonParamState*>(state)) return {true, 0, {s->momentum_buffer()}};
  ADD_FAILURE() << "a state of unknown type";
  return {};
}

class Twins {
 public:
  /// `groups`: the parameters' contents.
  Twins(const std::vector<std::vector<at::Tensor>>& groups, const MakeOptimizer& make,
        StepOptions options = {})
      : options_(std::move(options)) {
    eager = make(copied(groups, eager_parameters, true));
    compiled = make(copied(groups, compiled_parameters, false));
    step_.emplace(*compiled, options_);
  }

  /// An undefined gradient stands for none.
  void set_gradients(const std::vector<at::Tensor>& gradients) {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const auto &eager = eager_parameters[i], &compiled = compiled_parameters[i];
      const auto gradient =
          gradients[i].defined() ? gradients[i].to(compiled.scalar_type(), false, true) : at::Tensor();
      compiled.mutable_grad() = gradient;
      eager.mutable_grad() = gradient.defined() ? gradient.to(eager.scalar_type(), false, true) : gradient;
    }
  }

  /// One step of each, with clipping for the eager one too.
  void step() {
    std::vector<at::Tensor> given;
    for (auto& parameter : eager_parameters) {
      given.push_back(parameter.grad());
      const bool clips = options_.clip_norm || options_.clip_value;
      if (clips && parameter.grad().defined()) parameter.mutable_grad() = parameter.grad().clone();
    }
    if (options_.clip_value) torch::nn::utils::clip_grad_value_(eager_parameters, *options_.clip_value);
    if (options_.clip_norm)
      norm = torch::nn::utils::clip_grad_norm_(eager_parameters, *options_.clip_norm, options_.norm_type);
    eager->step();
    for (size_t i = 0; i < given.size(); ++i) eager_parameters[i].mutable_grad() = given[i];
    (*step_)();
  }

  /// Gives the eager twin what the compiled one has, so that rounding errors do not add up.
  void align() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < eager_parameters.size(); ++i) {
      copy_contents(eager_parameters[i], compiled_parameters[i]);
      const auto from = state_of(*eager, eager_parameters[i]),
                 to = state_of(*compiled, compiled_parameters[i]);
      for (size_t k = 0; k < std::min(from.tensors.size(), to.tensors.size()); ++k)
        if (from.tensors[k].defined()) copy_contents(from.tensors[k], to.tensors[k]);
    }
  }

  std::string difference() {
    for (size_t i = 0; i < eager_parameters.size(); ++i) {
      const auto &a = eager_parameters[i], &b = compiled_parameters[i];
      if (auto text = difference(a, b); !text.empty()) return at(i, "parameter", text);
      const auto from = state_of(*eager, a), to = state_of(*compiled, b);
      if (from.exists != to.exists) return at(i, "state", "exists in one of the two only");
      if (from.steps != to.steps) return at(i, "steps", c10::str(from.steps, " and ", to.steps));
      for (size_t k = 0; k < from.tensors.size(); ++k)
        if (auto text = difference(from.tensors[k], to.tensors[k]); !text.empty())
          return at(i, c10::str("state ", k), text);
    }
    return "";
  }

  CompiledStep& compiled_step() { return *step_; }

  std::unique_ptr<torch::optim::Optimizer> eager, compiled;
  std::vector<at::Tensor> eager_parameters, compiled_parameters;
  double norm = 0;  ///< of the eager twin's gradients

 private:
  static std::string at(size_t i, const std::string& what, const std::string& difference) {
    return c10::str("parameter ", i, ", ", what, ": ", difference);
  }

  static std::vector<torch::optim::OptimizerParamGroup> copied(
      const std::vector<std::vector<at::Tensor>>& groups, std::vector<at::Tensor>& all, bool exact) {
    std::vector<torch::optim::OptimizerParamGroup> out;
    for (const auto& group : groups) {
      std::vector<at::Tensor> parameters;
      for (const auto& parameter : group) {
        const bool wide = exact && !runs_libtorch_kernels() && parameter.element_size() == 2;
        parameters.push_back(
            parameter.to(wide ? at::kDouble : parameter.scalar_type(), false, true).requires_grad_());
      }
      all.insert(all.end(), parameters.begin(), parameters.end());
      out.emplace_back(parameters);
    }
    return out;
  }

  /// Below version counters.
  static void copy_contents(const at::Tensor& to, const at::Tensor& from) { to.variable_data().copy_(from); }

  static std::string difference(const at::Tensor& a, const at::Tensor& b) {
    if (a.defined() != b.defined()) return "defined in one of the two only";
    if (!a.defined()) return "";
    for (int64_t d = 0; d < a.dim(); ++d)
      if (a.size(d) > 1 && a.numel() > 0 && a.stride(d) != b.stride(d))
        return c10::str("strides ", a.strides(), " and ", b.strides());
    if (a._version() != b._version()) return c10::str("versions ", a._version(), " and ", b._version());
    if (a.requires_grad() != b.requires_grad()) return "requires_grad";
    if (runs_libtorch_kernels() && same_bits(a.detach(), b.detach())) return "";
    const auto rounding = rounding_of(b.scalar_type());
    const auto cancelled = at::full(a.sizes(), rounding / 2, at::kDouble);
    if (!runs_libtorch_kernels() && !wrong_elements(a.detach().to(at::kCPU, at::kDouble),
                                                    b.detach().to(at::kCPU, at::kDouble), rounding, cancelled)
                                         .any()
                                         .item<bool>())
      return "";
    return c10::str("differs by ", (a - b).abs().max().item<double>());
  }

  const StepOptions options_;
  std::optional<CompiledStep> step_;
};

template <class Optimizer, class Options>
MakeOptimizer maker(const Options& options) {
  return [options](const std::vector<torch::optim::OptimizerParamGroup>& groups) {
    return std::make_unique<Optimizer>(groups, options);
  };
}

}  // namespace antegrad::test
