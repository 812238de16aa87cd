#include "c/named_optimizers.h"

#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <string_view>
#include <type_traits>

#include "antegrad/error.h"
#include "antegrad/optimizers.h"

namespace antegrad::c {
namespace {

using torch::optim::Optimizer;
using torch::optim::OptimizerOptions;

/// Calls `set` if the options have what it sets.
template <class Options, class Set>
bool set_in(Options& options, const Set& set) {
  if constexpr (std::is_invocable_v<const Set&, Options&>) {
    set(options);
    return true;
  }
  return false;
}

template <class Options>
bool set_number(OptimizerOptions& base, std::string_view name, double v) {
  auto& options = static_cast<Options&>(base);
  const bool yes = v != 0;
#define ANTEGRAD_NUMBER(field, value) \
  if (name == #field)                 \
    return set_in(options, [&](auto& o) -> decltype(void(o.field(value))) { o.field(value); });
  ANTEGRAD_NUMBER(lr, v)
  ANTEGRAD_NUMBER(weight_decay, v)
  ANTEGRAD_NUMBER(momentum, v)
  ANTEGRAD_NUMBER(dampening, v)
  ANTEGRAD_NUMBER(nesterov, yes)
  ANTEGRAD_NUMBER(eps, v)
  ANTEGRAD_NUMBER(amsgrad, yes)
  ANTEGRAD_NUMBER(alpha, v)
  ANTEGRAD_NUMBER(centered, yes)
  ANTEGRAD_NUMBER(lr_decay, v)
  ANTEGRAD_NUMBER(momentum_decay, v)
  ANTEGRAD_NUMBER(decoupled_weight_decay, yes)
  ANTEGRAD_NUMBER(beta2_decay, v)
  ANTEGRAD_NUMBER(eps1, v)
  ANTEGRAD_NUMBER(eps2, v)
  ANTEGRAD_NUMBER(d, v)
#undef ANTEGRAD_NUMBER
  if (name == "beta1")
    return set_in(options,
                  [&](auto& o) -> decltype(void(std::get<0>(o.betas()) = v)) { std::get<0>(o.betas()) = v; });
  if (name == "beta2")
    return set_in(options,
                  [&](auto& o) -> decltype(void(std::get<1>(o.betas()) = v)) { std::get<1>(o.betas()) = v; });
  return false;
}

struct Class {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const std::vector<at::Tensor>&);
  bool (*set)(OptimizerOptions&, std::string_view, double);
};

template <class T, class Options>
constexpr Class class_of(const char* name) {
  return {name,
          [](const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
            Options defaults(1e-3);
            if constexpr (!std::is_same_v<Options, torch::optim::SGDOptions>) defaults = Options();
            return std::make_unique<T>(parameters, defaults);
          },
          set_number<Options>};
}

const Class kClasses[] = {class_of<torch::optim::SGD, torch::optim::SGDOptions>("SGD"),
                          class_of<torch::optim::Adam, torch::optim::AdamOptions>("Adam"),
                          class_of<torch::optim::AdamW, torch::optim::AdamWOptions>("AdamW"),
                          class_of<torch::optim::Adagrad, torch::optim::AdagradOptions>("Adagrad"),
                          class_of<torch::optim::RMSprop, torch::optim::RMSpropOptions>("RMSprop"),
                          class_of<Lion, LionOptions>("Lion"),
                          class_of<NAdam, NAdamOptions>("NAdam"),
                          class_of<Lamb, LambOptions>("Lamb"),
                          class_of<Adafactor, AdafactorOptions>("Adafactor"),
                          class_of<Muon, MuonOptions>("Muon")};

const Class& find_class(const std::string& name) {
  for (const auto& known : kClasses)
    if (name == known.name) return known;
  throw Error(ErrorCode::InvalidArgument, "c:trainer", fmt::format("there is no optimizer \"{}\"", name),
              "docs/c-api.md lists them");
}

}  // namespace

NamedOptimizer make_optimizer(const std::string& name, const std::vector<at::Tensor>& parameters) {
  const auto& known = find_class(name);
  return {known.make(parameters), known.set};
}

}  // namespace antegrad::c
