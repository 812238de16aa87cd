#pragma once
// TorchScript support: compile(module), and c10::IValue in arguments and results.
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

#include "antegrad/compile.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

/// Values whose structure is known only at run time: tensors, numbers, strings, devices, None, and tuples,
/// lists and dictionaries of these. Anything else throws Error(UnsupportedArgument).
template <>
struct Tree<c10::IValue> {
  static void flatten(const c10::IValue& value, Leaves& leaves);
  static c10::IValue rebuild(const c10::IValue& like, LeafReader& reader);
};

/// Modules are compared by their contents: the identity of their tensors and the values of all other
/// attributes, training flags included. Copies of a module share both.
template <>
struct Tree<torch::jit::Module> {
  static void flatten(const torch::jit::Module& module, Leaves& leaves);
  static torch::jit::Module rebuild(const torch::jit::Module& like, LeafReader&) { return like; }
};

namespace detail {
/// Calls forward(). During capture, forward() must not change the module's attributes or the lists and
/// dictionaries passed to it: such a change is undone and throws Error(UnsupportedOp).
struct ScriptForward {
  c10::IValue operator()(const torch::jit::Module& module, const std::vector<c10::IValue>& inputs) const;
};
}  // namespace detail

/// A TorchScript module whose forward() runs captured graphs. A change of a training flag, a parameter or any
/// other attribute causes a recapture.
class CompiledScript {
 public:
  /// Equivalent to compile(module, options).
  CompiledScript(torch::jit::Module module, Options options)
      : module_(std::move(module)), forward_(detail::ScriptForward{}, std::move(options)) {}

  /// Calls forward() with these arguments, in order. Each may be anything that converts to c10::IValue:
  /// tensors, numbers, std::vector …
  template <class... Args>
  c10::IValue operator()(const Args&... args) const {
    return forward_(module_, std::vector<c10::IValue>{c10::IValue(args)...});
  }

  Report report() const { return forward_.report(); }             ///< see Compiled::report
  std::string graph() const { return forward_.graph(); }          ///< see Compiled::graph
  std::string signature() const { return forward_.signature(); }  ///< see Compiled::signature
  /// See Compiled::core.
  const std::shared_ptr<detail::Function>& core() const { return forward_.core(); }

 private:
  torch::jit::Module module_;
  Compiled<detail::ScriptForward> forward_;
};

/// Compiles the forward() of a TorchScript module.
inline CompiledScript compile(torch::jit::Module module, Options options = {}) {
  return {std::move(module), std::move(options)};
}

}  // namespace antegrad
