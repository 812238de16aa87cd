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

/// The arguments of one differentiation: each floating-point or complex tensor becomes a variable of its own,
/// where differentiation stops. Inside another differentiation, the variables stay connected to the tensors
/// that were passed.
class Variables {
 public:
  explicit Variables(const Leaves& leaves);

  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  /// Returns the gradients of `value`, which must have one element, with respect to the variables, in order;
  /// zeros for a variable that `value` does not depend on.
  std::vector<at::Tensor> gradients_of(const at::Tensor& value) const;
  /// Returns the value as the caller may see it: detached, unless the caller is being differentiated too.
  at::Tensor result(const at::Tensor& value) const;
  /// Does the same for tensors that the function assigned to its arguments; a variable is mapped back to the
  /// argument that was passed.
  std::vector<at::Tensor> results(const Leaves& assigned) const;

 private:
  std::vector<at::Tensor> passed_;   ///< all arguments
  std::vector<at::Tensor> tensors_;  ///< the same, with variables for differentiable tensors
  std::vector<at::Tensor> wanted_;   ///< the variables
  bool inside_another_;
  c10::AutoGradMode grad_mode_;
};

/// Calls F and differentiates its result.
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

/// A compiled function whose results have autograd history only inside other functions of antegrad.
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
  const std::shared_ptr<Function>& core() const { return compiled_.core(); }

 private:
  Compiled<F> compiled_;
};
template <class F>
struct Parameters<WithoutHistory<F>> : Parameters<F> {};

}  // namespace detail

/// Compiles a function that returns a tensor of one element into one that returns that value and its
/// gradients with respect to the floating-point and complex tensors among the arguments, in order. The
/// results have no autograd history. Composable: inside a compiled function, grad() or value_and_grad(),
/// compiled or not, and in a backward pass, the results have history where grad mode is enabled and their
/// arguments require gradients.
template <class F>
auto value_and_grad(F function, Options options = {}) {
  return detail::WithoutHistory(detail::ValueAndGrad<F>(std::move(function)), std::move(options));
}

/// Like value_and_grad(), but returns only the gradients.
template <class F>
auto grad(F function, Options options = {}) {
  return detail::WithoutHistory(detail::Grad<F>(std::move(function)), std::move(options));
}

// --- Compiled autograd: docs/compiled-autograd.md

/// While it lives, backward passes started by this thread are captured when they run, compiled, and found
/// again by their structure. With `enabled` false they run in LibTorch's engine as usual. The guards of a
/// thread must be destroyed in the reverse order of their construction. The first one of a process must not
/// be created while another thread is in a backward pass: the engine cannot be replaced then.
class CompiledAutograd {
 public:
  explicit CompiledAutograd(bool enabled = true);  ///< false disables compiled autograd for its lifetime
  ~CompiledAutograd();
  CompiledAutograd(const CompiledAutograd&) = delete;
  CompiledAutograd& operator=(const CompiledAutograd&) = delete;

 private:
  bool before_;
};

namespace detail {

/// The identity of a hook: compiled autograd treats hooks with equal identities as the same hook.
struct HookIdentity {
  const void* type = nullptr;  ///< a distinct address per type of callable
  uint64_t object = 0;         ///< 0 for stateless callables: all hooks of such a type are the same
};
uint64_t next_hook();  ///< returns a number that has not been used yet
template <class F>
inline constexpr char kHookType = 0;
template <class F>
HookIdentity hook_identity() {
  return {&kHookType<F>, std::is_empty_v<F> ? 0 : next_hook()};
}

/// What traceable() returns; copies are the same hook.
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

/// Marks a hook for `tensor.register_hook(traceable(hook))`: compiled autograd traces it into its graphs
/// instead of calling it. The hook must only compute a tensor from its argument (and from tensors that it
/// holds, which it may also write to), in the same way each time. The identity of a hook with state is this
/// call: make it once and register copies of it, otherwise every pass is a new graph.
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

/// The same for Node::add_pre_hook(): takes and returns the incoming gradients.
template <class F>
auto traceable_pre_hook(F hook) {
  return detail::pre_hook(detail::hook_identity<F>(), std::move(hook));
}

/// The same for Node::add_post_hook(): takes the outgoing and the incoming gradients, returns the outgoing
/// ones.
template <class F>
auto traceable_post_hook(F hook) {
  return detail::post_hook(detail::hook_identity<F>(), std::move(hook));
}

namespace compiled_autograd {

enum class Stance {
  Normal,
  ForceEager,       ///< the engine runs every backward pass
  FailOnRecompile,  ///< a structure or sizes not seen before throw Error(CacheMiss)
};

/// Statistics of this process.
struct Stats {
  uint64_t passes = 0;                       ///< backward passes while compiled autograd was enabled
  uint64_t captures = 0;                     ///< graphs captured for them
  uint64_t eager = 0;                        ///< passes that ran in the engine
  std::vector<std::string> eager_reasons;    ///< each reason once
  std::vector<std::string> capture_reasons;  ///< what was new in each capture; the newest 100
  std::vector<std::string> cut_reasons;      ///< what ran between graphs, and why; each reason once
};

void enable();  ///< enables compiled autograd for this thread until disable()
void disable();
void reset();  ///< drops all graphs and resets the statistics
Stats stats();
/// Returns the text of the graph that was captured last; empty when there is none. Ops are annotated with the
/// autograd node that they come from.
std::string graph();
void set_stance(Stance stance);

}  // namespace compiled_autograd

}  // namespace antegrad
