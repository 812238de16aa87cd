#pragma once
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function_hook.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/compile.h"

namespace antegrad {

namespace detail {

/// The arguments of one differentiation: each floating tensor is a variable of its own, so that gradients
/// stop there. Inside another differentiation it stays connected to what was passed.
class Variables {
 public:
  explicit Variables(const Leaves& leaves);

  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  /// The gradients of `value`, which has one element, for the floating tensors in order; zeros where it does
  /// not depend on one.
  std::vector<at::Tensor> gradients_of(const at::Tensor& value) const;
  /// The value as the caller may see it: without a history, unless the caller differentiates too.
  at::Tensor result(const at::Tensor& value) const;
  /// The same for what the function has assigned to an argument; an argument is what was passed.
  std::vector<at::Tensor> results(const Leaves& assigned) const;

 private:
  std::vector<at::Tensor> passed_;   ///< all arguments
  std::vector<at::Tensor> tensors_;  ///< the same, as the function gets them
  std::vector<at::Tensor> wanted_;   ///< the floating ones
  bool inside_another_;
  c10::AutoGradMode grad_mode_;
};

/// Calls F and differentiates what it returns.
template <class F>
class ValueAndGrad {
 public:
  explicit ValueAndGrad(F function) : function_(std::move(function)) {}

  template <class... Args>
  std::pair<at::Tensor, std::vector<at::Tensor>> operator()(Args&... args) {
    Leaves leaves;
    (flatten(args, leaves), ...);
    const Variables variables(leaves);
    LeafReader reader(variables.tensors());
    std::tuple<Args...> arguments{rebuild(args, reader)...};
    return differentiate(variables, arguments, std::index_sequence_for<Args...>(), args...);
  }

 private:
  template <class Arguments, size_t... I, class... Args>
  std::pair<at::Tensor, std::vector<at::Tensor>> differentiate(const Variables& variables,
                                                               Arguments& arguments,
                                                               std::index_sequence<I...>, Args&... args) {
    std::array<Leaves, sizeof...(Args)> before;
    const auto take = [&]<size_t J>() {
      if constexpr (kMayAssign<F, J>) flatten(std::get<J>(arguments), before[J]);
    };
    (take.template operator()<I>(), ...);
    const at::Tensor value = std::apply(function_, arguments);
    auto gradients = variables.gradients_of(value);
    (hand_back<I>(variables, before[I], std::get<I>(arguments), args), ...);
    return {variables.result(value), std::move(gradients)};
  }

  template <size_t I, class T>
  static void hand_back(const Variables& variables, const Leaves& before, const T& argument, T& passed) {
    if constexpr (kMayAssign<F, I>) {
      Leaves after;
      flatten(argument, after);
      if (same_leaves(before, after)) return;
      const auto tensors = variables.results(after);
      LeafReader reader(tensors);
      assign(passed, argument, reader);
    }
  }

  F function_;
};
template <class F>
struct Parameters<ValueAndGrad<F>> : Parameters<F> {};

template <class F>
class Grad {
 public:
  explicit Grad(F function) : value_and_grad_(std::move(function)) {}
  template <class... Args>
  std::vector<at::Tensor> operator()(Args&... args) {
    return value_and_grad_(args...).second;
  }

 private:
  ValueAndGrad<F> value_and_grad_;
};
template <class F>
struct Parameters<Grad<F>> : Parameters<F> {};

/// A compiled function whose results have a history only inside of other functions of antegrad's.
template <class F>
class WithoutHistory {
 public:
  WithoutHistory(F function, Options options) : compiled_(std::move(function), std::move(options)) {}

  template <class... Args>
  auto operator()(Args&&... args) const {
    if (inside_function()) return compiled_(std::forward<Args>(args)...);
    c10::AutoGradMode no_grad(false);
    return compiled_(std::forward<Args>(args)...);
  }

  Report report() const { return compiled_.report(); }
  std::string graph() const { return compiled_.graph(); }
  std::string signature() const { return compiled_.signature(); }

 private:
  Compiled<F> compiled_;
};
template <class F>
struct Parameters<WithoutHistory<F>> : Parameters<F> {};

}  // namespace detail

/// Compiles a function that returns a tensor of one element into one that returns that value and its
/// gradients for the floating tensors among the arguments, in order. No autograd node takes part: the results
/// have no history. Composable: inside of a compiled function, of grad() or of value_and_grad(), whether that
/// is compiled or runs uncompiled, and in a backward pass, results have a history where grad mode is on and
/// their arguments require gradients.
template <class F>
auto value_and_grad(F function, Options options = {}) {
  return detail::WithoutHistory(detail::ValueAndGrad<F>(std::move(function)), std::move(options));
}

/// As value_and_grad, the gradients only.
template <class F>
auto grad(F function, Options options = {}) {
  return detail::WithoutHistory(detail::Grad<F>(std::move(function)), std::move(options));
}

// --- Compiled autograd: docs/compiled-autograd.md

/// While it lives, backward passes that this thread starts are captured when they run, compiled, and found
/// again by their structure. With `enabled` false they are run by the engine, as without it. Guards of
/// a thread end in the order of their nesting. The first one of a process must not be made while another
/// thread is in a backward pass: LibTorch's engine cannot be told then.
class CompiledAutograd {
 public:
  explicit CompiledAutograd(bool enabled = true);  ///< false: switches it off while this lives
  ~CompiledAutograd();
  CompiledAutograd(const CompiledAutograd&) = delete;
  CompiledAutograd& operator=(const CompiledAutograd&) = delete;

 private:
  bool before_;
};

namespace detail {

/// Which hooks are the same to compiled autograd.
struct HookIdentity {
  const void* type = nullptr;  ///< an address for each type of callable
  uint64_t object = 0;         ///< 0: it has no state, so that all of its type are the same
};
uint64_t next_hook();  ///< a number that is not used yet
template <class F>
inline constexpr char kHookType = 0;
template <class F>
HookIdentity hook_identity() {
  return {&kHookType<F>, std::is_empty_v<F> ? 0 : next_hook()};
}

/// What traceable() gives; copies are the same hook.
class TraceableHook {
 public:
  using Call = std::function<at::Tensor(const at::Tensor&)>;
  TraceableHook(HookIdentity identity, Call call);
  at::Tensor operator()(const at::Tensor& gradient) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

using Gradients = std::vector<at::Tensor>;
std::unique_ptr<torch::autograd::FunctionPreHook> pre_hook(HookIdentity,
                                                           std::function<Gradients(const Gradients&)>);
std::unique_ptr<torch::autograd::FunctionPostHook> post_hook(
    HookIdentity, std::function<Gradients(const Gradients&, const Gradients&)>);

}  // namespace detail

/// Marks a hook for `tensor.register_hook(traceable(hook))`: compiled autograd takes what it does into its
/// graphs instead of calling it. It must do nothing but compute a tensor from its argument (and from tensors
/// that it holds; it may write to those), always in the same way. One that holds something is known by this
/// call: make it once and register copies, or every pass is a new graph.
template <class F>
detail::TraceableHook traceable(F hook) {
  const auto identity = detail::hook_identity<F>();
  if constexpr (std::is_void_v<std::invoke_result_t<F&, const at::Tensor&>>)
    return {identity, [hook = std::move(hook)](const at::Tensor& gradient) mutable {
              hook(gradient);
              return at::Tensor();
            }};
  else
    return {identity, std::move(hook)};
}

/// The same for Node::add_pre_hook(): takes and gives the gradients that come in.
template <class F>
auto traceable_pre_hook(F hook) {
  return detail::pre_hook(detail::hook_identity<F>(), std::move(hook));
}

/// The same for Node::add_post_hook(): takes the gradients that go out and those that came in, gives the
/// former.
template <class F>
auto traceable_post_hook(F hook) {
  return detail::post_hook(detail::hook_identity<F>(), std::move(hook));
}

namespace compiled_autograd {

enum class Stance {
  Normal,
  ForceEager,       ///< the engine runs everything
  FailOnRecompile,  ///< a structure, or sizes, that were not seen before throw Error(CacheMiss)
};

/// Of this process.
struct Stats {
  uint64_t passes = 0;                       ///< backward passes while it was enabled
  uint64_t captures = 0;                     ///< graphs that had to be captured for them
  uint64_t eager = 0;                        ///< of them, those that the engine ran
  std::vector<std::string> eager_reasons;    ///< each once
  std::vector<std::string> capture_reasons;  ///< what was new, per capture; the newest 100
  std::vector<std::string> cut_reasons;      ///< what was run between graphs, and why; each once
};

void enable();  ///< for this thread, until disable()
void disable();
void reset();  ///< forgets all graphs, and the counts
Stats stats();
/// The text of the graph that was captured last; "": none was. Ops carry the node they come from.
std::string graph();
void set_stance(Stance stance);

}  // namespace compiled_autograd

}  // namespace antegrad
