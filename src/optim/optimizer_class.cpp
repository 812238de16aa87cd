#include "optim/optimizer_class.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <type_traits>

#include "antegrad/optimizers.h"
#include "util/ids.h"

namespace antegrad::optim {
namespace {

using torch::optim::Optimizer;
using torch::optim::OptimizerOptions;
using torch::optim::OptimizerParamState;
using Groups = std::vector<torch::optim::OptimizerParamGroup>;

/// Passes fields of all types on; those of tuples one by one.
struct Fields {
  FieldVisitor& visitor;
  template <class T>
  void operator()(const char* name, T& field) const {
    visitor.visit(name, field);
  }
  template <class... T>
  void operator()(const char* name, std::tuple<T...>& field) const {
    std::string singular(name);
    singular.pop_back();
    int number = 0;
    std::apply([&](auto&... parts) { (visitor.visit(singular + std::to_string(++number), parts), ...); },
               field);
  }
};

// What `each` of <antegrad/optimizers.h> does, for LibTorch's classes.

template <class T>
void each(T& self, const Fields& f) {
  T::each(self, f);
}
void each(torch::optim::SGDOptions& self, const Fields& f) {
  f("lr", self.lr()), f("momentum", self.momentum()), f("dampening", self.dampening());
  f("weight_decay", self.weight_decay()), f("nesterov", self.nesterov());
}
template <class Options>
void each_of_adam(Options& self, const Fields& f) {
  f("lr", self.lr()), f("betas", self.betas()), f("eps", self.eps());
  f("weight_decay", self.weight_decay()), f("amsgrad", self.amsgrad());
}
void each(torch::optim::AdamOptions& self, const Fields& f) { each_of_adam(self, f); }
void each(torch::optim::AdamWOptions& self, const Fields& f) { each_of_adam(self, f); }
void each(torch::optim::AdagradOptions& self, const Fields& f) {
  f("lr", self.lr()), f("lr_decay", self.lr_decay()), f("weight_decay", self.weight_decay());
  f("initial_accumulator_value", self.initial_accumulator_value()), f("eps", self.eps());
}
void each(torch::optim::RMSpropOptions& self, const Fields& f) {
  f("lr", self.lr()), f("alpha", self.alpha()), f("eps", self.eps());
  f("weight_decay", self.weight_decay()), f("momentum", self.momentum()), f("centered", self.centered());
}
void each(torch::optim::SGDParamState& self, const Fields& f) {
  f("momentum_buffer", self.momentum_buffer());
}
template <class State>
void each_of_adam_state(State& self, const Fields& f) {
  f("step", self.step()), f("exp_avg", self.exp_avg()), f("exp_avg_sq", self.exp_avg_sq());
  f("max_exp_avg_sq", self.max_exp_avg_sq());
}
void each(torch::optim::AdamParamState& self, const Fields& f) { each_of_adam_state(self, f); }
void each(torch::optim::AdamWParamState& self, const Fields& f) { each_of_adam_state(self, f); }
void each(torch::optim::AdagradParamState& self, const Fields& f) {
  f("step", self.step()), f("sum", self.sum());
}
void each(torch::optim::RMSpropParamState& self, const Fields& f) {
  f("step", self.step()), f("square_avg", self.square_avg());
  f("momentum_buffer", self.momentum_buffer()), f("grad_avg", self.grad_avg());
}

struct Class {
  Method method;
  const char* name;
  std::unique_ptr<Optimizer> (*make)(const Groups&);
  std::unique_ptr<OptimizerParamState> (*make_state)();
  void (*visit_options)(OptimizerOptions&, const Fields&);
  void (*check)(const OptimizerOptions&);
  void (*visit_state)(OptimizerParamState&, const Fields&);
};

template <class T, class Options, class State>
constexpr Class class_of(Method method, const char* name) {
  return {method,
          name,
          [](const Groups& groups) -> std::unique_ptr<Optimizer> {
            if constexpr (std::is_same_v<Options, torch::optim::SGDOptions>)
              return std::make_unique<T>(groups, Options(1e-3));
            else
              return std::make_unique<T>(groups, Options());
          },
          []() -> std::unique_ptr<OptimizerParamState> { return std::make_unique<State>(); },
          [](OptimizerOptions& options, const Fields& f) { each(static_cast<Options&>(options), f); },
          [](const OptimizerOptions& base) {
            const auto& options = static_cast<const Options&>(base);
            if constexpr (requires { options.check(); }) options.check();
          },
          [](OptimizerParamState& state, const Fields& f) { each(static_cast<State&>(state), f); }};
}

namespace to = torch::optim;

constexpr Class kClasses[] = {
    class_of<to::SGD, to::SGDOptions, to::SGDParamState>(Method::Sgd, "SGD"),
    class_of<to::Adam, to::AdamOptions, to::AdamParamState>(Method::Adam, "Adam"),
    class_of<to::AdamW, to::AdamWOptions, to::AdamWParamState>(Method::AdamW, "AdamW"),
    class_of<to::Adagrad, to::AdagradOptions, to::AdagradParamState>(Method::Adagrad, "Adagrad"),
    class_of<to::RMSprop, to::RMSpropOptions, to::RMSpropParamState>(Method::RmsProp, "RMSprop"),
    class_of<Lion, LionOptions, LionParamState>(Method::Lion, "Lion"),
    class_of<NAdam, NAdamOptions, NAdamParamState>(Method::NAdam, "NAdam"),
    class_of<Lamb, LambOptions, LambParamState>(Method::Lamb, "Lamb"),
    class_of<Adafactor, AdafactorOptions, AdafactorParamState>(Method::Adafactor, "Adafactor"),
    class_of<Muon, MuonOptions, MuonParamState>(Method::Muon, "Muon")};

/// The table has them in the order of the methods.
constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kClasses); ++i)
    if (kClasses[i].method != static_cast<Method>(i)) return false;
  return true;
}
static_assert(is_in_order());

/// Sets the number of one name.
class SetNumber final : public FieldVisitor {
 public:
  SetNumber(std::string name, double value) : name_(std::move(name)), value_(value) {}
  void visit(const std::string& name, double& field) override { set(name, field, value_); }
  void visit(const std::string& name, std::optional<double>& field) override { set(name, field, value_); }
  void visit(const std::string& name, bool& field) override { set(name, field, value_ != 0); }
  void visit(const std::string&, int64_t&) override {}
  void visit(const std::string&, at::Tensor&) override {}
  bool found() const { return found_; }

 private:
  template <class T, class V>
  void set(const std::string& name, T& field, V value) {
    if (name != name_) return;
    field = value;
    found_ = true;
  }

  const std::string name_;
  const double value_;
  bool found_ = false;
};

const Class& class_of(Method method) { return kClasses[ordinal(method)]; }

}  // namespace

const char* class_name(Method method) { return class_of(method).name; }

std::optional<Method> method_named(std::string_view name) {
  for (const auto& known : kClasses)
    if (name == known.name) return known.method;
  return std::nullopt;
}

std::unique_ptr<Optimizer> make_optimizer(Method method, const Groups& groups) {
  return class_of(method).make(groups);
}
std::unique_ptr<OptimizerParamState> make_state(Method method) { return class_of(method).make_state(); }

void visit_options(Method method, OptimizerOptions& options, FieldVisitor& visitor) {
  class_of(method).visit_options(options, Fields{visitor});
}
void check_options(Method method, const OptimizerOptions& options) { class_of(method).check(options); }

bool set_hyperparameter(Method method, Optimizer& optimizer, const std::string& name, double value) {
  if (name == "initial_accumulator_value") return false;  // it has been used
  SetNumber set(name, value);
  for (auto& group : optimizer.param_groups()) visit_options(method, group.options(), set);
  return set.found();
}

void visit_state(Method method, OptimizerParamState& state, FieldVisitor& visitor) {
  class_of(method).visit_state(state, Fields{visitor});
}

}  // namespace antegrad::optim
