#pragma once
#include <c10/core/GradMode.h>

#include <cstdint>
#include <string>
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

 private:
  std::vector<at::Tensor> tensors_;  ///< all arguments
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
    const at::Tensor value = std::apply(function_, arguments);
    auto gradients = variables.gradients_of(value);
    return {variables.result(value), std::move(gradients)};
  }

 private:
  F function_;
};

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

/// A compiled function that no autograd node ever sees, whatever its arguments require.
template <class F>
class WithoutHistory {
 public:
  WithoutHistory(F function, Options options) : compiled_(std::move(function), std::move(options)) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    if (capturing()) return compiled_(args...);
    c10::AutoGradMode no_grad(false);
    return compiled_(args...);
  }

  Report report() const { return compiled_.report(); }
  std::string graph() const { return compiled_.graph(); }
  std::string signature() const { return compiled_.signature(); }

 private:
  Compiled<F> compiled_;
};

}  // namespace detail

/// Compiles a function that returns a tensor of one element into one that returns that value and its
/// gradients for the floating tensors among the arguments, in order. No autograd node takes part: the results
/// have no history. Composable: the gradient of a function that calls grad() or value_and_grad() is right.
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
