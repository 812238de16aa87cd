#include "optim/updates.h"

#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <typeinfo>

#include "antegrad/error.h"
#include "antegrad/optimizers.h"
#include "aten/convert.h"
#include "optim/memory_span.h"
#include "optim/update_reader.h"

namespace antegrad::optim {
namespace {

using torch::optim::Optimizer;
using torch::optim::OptimizerOptions;
using torch::optim::OptimizerParamState;

constexpr const char* kPlain =
    "is not a dense f32, f64, bf16 or f16 tensor in memory of the CPU or of a CUDA device";

/// Whether both have the same sizes, and their elements the same order in memory.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return a.numel() == 0;
  return true;
}

/// The gradient in the memory layout of its parameter.
at::Tensor fitting_gradient(const at::Tensor& gradient, const at::Tensor& parameter) {
  if (gradient.sizes() != parameter.sizes() || gradient.scalar_type() != parameter.scalar_type() ||
      gradient.device() != parameter.device())
    refuse_tensor("a gradient", gradient, "differs from its parameter");
  if (same_layout(gradient, parameter)) return gradient;
  return at::empty_like(parameter, {}, at::MemoryFormat::Preserve).detach().copy_(gradient.detach());
}

}  // namespace

at::Tensor zeros_for(const at::Tensor& parameter) {
  return torch::zeros_like(parameter, at::MemoryFormat::Preserve);
}

bool is_plain(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet kLazy(
      {c10::DispatchKey::ZeroTensor, c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  const auto dtype = tensor.scalar_type();
  return tensor.layout() == at::kStrided && (tensor.is_cpu() || tensor.is_cuda()) && !tensor.is_inference() &&
         !tensor.unsafeGetTensorImpl()->key_set().has_any(kLazy) &&
         (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16 || dtype == at::kHalf);
}

void refuse_tensor(const char* what, const at::Tensor& tensor, const std::string& why) {
  throw Error(ErrorCode::UnsupportedTensor, "optimizer",
              fmt::format("{} of sizes {} and type {} {}", what, c10::str(tensor.sizes()),
                          c10::toString(tensor.scalar_type()), why),
              "Call the optimizer's own step(), or set Options::unsupported to Eager");
}

void UpdateReader::check(const at::Tensor& parameter, const at::Tensor& gradient) const {
  if (gradient.is_sparse()) refuse_tensor("a gradient", gradient, "is sparse");
  if (!plain_) return;
  if (!is_plain(parameter) || !parameter.is_non_overlapping_and_dense())
    refuse_tensor("a parameter", parameter, kPlain);
  if (!is_plain(gradient)) refuse_tensor("a gradient", gradient, kPlain);
}

void UpdateReader::check_state(const Update& update) const {
  const bool same = is_elementwise(method_) && plain_;
  for (const auto& state : update.state)
    if (!state.defined() || state.scalar_type() != update.parameter.scalar_type() ||
        state.device() != update.parameter.device() || (plain_ && !is_plain(state)) ||
        (same && !same_layout(state, update.parameter)))
      refuse_tensor(
          "a parameter", update.parameter,
          "has a state that was made for other options, or for another size, layout, type or device");
}

void UpdateReader::add(OptimizerOptions& options, const at::Tensor& parameter, const at::Tensor& gradient) {
  check(parameter, gradient);
  Update update;
  update.formula.method = method_;
  update.formula.dtype = aten::to_ir(parameter.scalar_type());
  update.parameter = parameter;
  update.gradient = plain_ ? fitting_gradient(gradient, parameter) : gradient;
  if (!update.gradient.is_same(gradient)) copied_.emplace_back(gradient, out_.list.size());
  update.round = rounds_[parameter.unsafeGetTensorImpl()]++;
  fill(options, update);
  check_state(update);
  out_.list.push_back(std::move(update));
}

/// LibTorch would read the gradient after the updates before it.
void UpdateReader::check_copies() const {
  for (const auto& [gradient, row] : copied_) {
    const auto span = storage_span(gradient);
    const auto meets = [&](const at::Tensor& tensor) { return storage_span(tensor).meets(span); };
    for (size_t i = 0; i <= row; ++i) {
      const auto& update = out_.list[i];
      if (meets(update.parameter) || std::any_of(update.state.begin(), update.state.end(), meets))
        refuse_tensor("a gradient", gradient,
                      "shares memory with a parameter or state, and has another layout than its parameter");
    }
  }
}

Updates UpdateReader::take() {
  check_copies();
  return std::move(out_);
}

void UpdateReader::set_betas(const std::tuple<double, double>& betas, int64_t step, Update& update) {
  const auto [beta1, beta2] = betas;
  if (step != step_ || beta1 != beta1_ || beta2 != beta2_) {
    step_ = step;
    beta1_ = beta1;
    beta2_ = beta2;
    correction1_ = 1 - std::pow(beta1, step);
    root_of_correction2_ = std::sqrt(1 - std::pow(beta2, step));
  }
  update.numbers[kBeta1] = beta1;
  update.numbers[kOneMinusBeta1] = 1 - beta1;
  update.numbers[kBeta2] = beta2;
  update.numbers[kOneMinusBeta2] = 1 - beta2;
  update.numbers[kCorrection] = root_of_correction2_;
}

template <class Options>
void UpdateReader::sgd(const Options& options, Update& update) {
  decay(options.weight_decay(), update);
  update.parameter_writes = 0;  // LibTorch writes through data()
  update.numbers[kStep] = -1 * options.lr();
  if (options.momentum() == 0) return;
  update.formula.momentum = true;
  update.formula.nesterov = options.nesterov();
  bool first = false;
  auto& state = state_of<torch::optim::SGDParamState>(update.parameter, [&](auto& made) {
    made.momentum_buffer(zeros_for(update.parameter));
    first = true;
  });
  update.state = {state.momentum_buffer()};
  update.numbers[kBeta1] = options.momentum();
  update.numbers[kOneMinusBeta1] = first ? 1 : 1 - options.dampening();
  if (first) update.state_writes[0] = 0;
}

template <class State, class Options>
void UpdateReader::adam(const Options& options, Update& update) {
  update.formula.amsgrad = options.amsgrad();
  if (method_ == Method::AdamW) {
    decay_decoupled(options.lr(), options.weight_decay(), update);
    update.parameter_writes = update.formula.decays ? 2 : 1;
  } else {
    decay(options.weight_decay(), update);
  }
  auto& state = state_of<State>(update.parameter, [&](auto& made) {
    made.step(0);
    made.exp_avg(zeros_for(update.parameter));
    made.exp_avg_sq(zeros_for(update.parameter));
    if (options.amsgrad()) made.max_exp_avg_sq(zeros_for(update.parameter));
  });
  update.state = {state.exp_avg(), state.exp_avg_sq()};
  if (options.amsgrad()) update.state.push_back(state.max_exp_avg_sq());
  update.state_writes[2] = 1;
  set_betas(options.betas(), count(state, update), update);
  update.numbers[kEps] = options.eps();
  update.numbers[kStep] = -(options.lr() / correction1_);
}

template <class Options>
void UpdateReader::adagrad(const Options& options, Update& update) {
  decay(options.weight_decay(), update);
  const auto found = optimizer_.state().find(update.parameter.unsafeGetTensorImpl());
  if (found == optimizer_.state().end() || found->second == nullptr)
    refuse_tensor("a parameter", update.parameter,
                  "has no state: Adagrad makes it in its constructor, not for groups that are added later");
  auto& state = static_cast<torch::optim::AdagradParamState&>(*found->second);
  update.state = {state.sum()};
  update.state_writes[0] = 1;
  const auto step = count(state, update);
  update.numbers[kEps] = options.eps();
  update.numbers[kStep] = -(options.lr() / (1 + static_cast<double>(step - 1) * options.lr_decay()));
}

template <class Options>
void UpdateReader::rms_prop(const Options& options, Update& update) {
  decay(options.weight_decay(), update);
  update.formula.momentum = options.momentum() > 0;
  update.formula.centered = options.centered();
  auto& state = state_of<torch::optim::RMSpropParamState>(update.parameter, [&](auto& made) {
    made.step(0);
    made.square_avg(zeros_for(update.parameter));
    if (options.momentum() > 0) made.momentum_buffer(zeros_for(update.parameter));
    if (options.centered()) made.grad_avg(zeros_for(update.parameter));
  });
  update.state = {state.square_avg()};
  if (update.formula.momentum) update.state.push_back(state.momentum_buffer());
  if (update.formula.centered) update.state.push_back(state.grad_avg());
  count(state, update);
  update.numbers[kBeta1] = options.momentum();
  update.numbers[kBeta2] = options.alpha();
  update.numbers[kOneMinusBeta2] = 1 - options.alpha();
  update.numbers[kEps] = options.eps();
  update.numbers[kStep] = -options.lr();
}

void UpdateReader::fill(OptimizerOptions& options, Update& update) {
  switch (method_) {
    case Method::Sgd:
      return sgd(static_cast<torch::optim::SGDOptions&>(options), update);
    case Method::Adam:
      return adam<torch::optim::AdamParamState>(static_cast<torch::optim::AdamOptions&>(options), update);
    case Method::AdamW:
      return adam<torch::optim::AdamWParamState>(static_cast<torch::optim::AdamWOptions&>(options), update);
    case Method::Adagrad:
      return adagrad(static_cast<torch::optim::AdagradOptions&>(options), update);
    case Method::RmsProp:
      return rms_prop(static_cast<torch::optim::RMSpropOptions&>(options), update);
    default:
      return fill_own(options, update);
  }
}

std::optional<Method> method_of(const Optimizer& optimizer) {
  const auto& type = typeid(optimizer);
  if (type == typeid(torch::optim::SGD)) return Method::Sgd;
  if (type == typeid(torch::optim::Adam)) return Method::Adam;
  if (type == typeid(torch::optim::AdamW)) return Method::AdamW;
  if (type == typeid(torch::optim::Adagrad)) return Method::Adagrad;
  if (type == typeid(torch::optim::RMSprop)) return Method::RmsProp;
  if (type == typeid(Lion)) return Method::Lion;
  if (type == typeid(NAdam)) return Method::NAdam;
  if (type == typeid(Lamb)) return Method::Lamb;
  if (type == typeid(Adafactor)) return Method::Adafactor;
  if (type == typeid(Muon)) return Method::Muon;
  return std::nullopt;
}

static Updates read(Optimizer& optimizer, Method method, bool plain, GradientOf gradient_of) {
  const at::NoGradGuard no_grad;
  size_t parameters = 0;
  for (const auto& group : optimizer.param_groups()) parameters += group.params().size();
  UpdateReader reader(optimizer, method, plain, parameters);
  for (auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params())
      if (const auto gradient = gradient_of(parameter); gradient.defined())
        reader.add(group.options(), parameter, gradient);
  return reader.take();
}

Updates updates_of(Optimizer& optimizer, Method method, GradientOf gradient_of) {
  return read(optimizer, method, true, gradient_of);
}
Updates eager_updates_of(Optimizer& optimizer, Method method, GradientOf gradient_of) {
  return read(optimizer, method, false, gradient_of);
}

void count(const Update& update) {
  if (update.steps != nullptr) ++*update.steps;
  if (update.product != nullptr) *update.product = update.new_product;
}

void hand_over(std::vector<NewState> made, Optimizer& optimizer) {
  auto& state = optimizer.state();
  size_t done = 0;
  try {
    for (; done < made.size(); ++done) state[made[done].parameter] = std::move(made[done].state);
  } catch (...) {
    for (size_t i = 0; i <= done; ++i) state.erase(made[i].parameter);
    throw;
  }
}

}  // namespace antegrad::optim
