#pragma once
// For TorchScript modules: compile(module), and c10::IValue in arguments and results.
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <utility>
#include <vector>

#include "antegrad/compile.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

/// Values whose structure is known at run time only: tensors, numbers, strings, devices, none, and tuples,
/// lists and dictionaries of these. Anything else is an Error(UnsupportedArgument).
template <>
struct Tree<c10::IValue> {
  static void flatten(const c10::IValue& value, Leaves& leaves);
  static c10::IValue rebuild(const c10::IValue& like, LeafReader& reader);
};

/// Modules are compared by what they are made of: which tensors, and the values of all other attributes,
/// training flags among them. Copies of a module share these.
template <>
struct Tree<torch::jit::Module> {
  static void flatten(const torch::jit::Module& module, Leaves& leaves);
  static torch::jit::Module rebuild(const torch::jit::Module& like, LeafReader&) { return like; }
};

namespace detail {
/// Calls forward(). While captured it may not change the module's attributes or the lists and dictionaries it
/// is given: Error(UnsupportedOp), and both are put back.
struct ScriptForward {
  c10::IValue operator()(const torch::jit::Module& module, const std::vector<c10::IValue>& inputs) const;
};
}  // namespace detail

/// A TorchScript module whose forward() runs captured graphs. A training flag, a parameter or any other
/// attribute that is not what it was leads to a new capture.
class CompiledScript {
 public:
  /// As compile(module, options).
  CompiledScript(torch::jit::Module module, Options options)
      : module_(std::move(module)), forward_(detail::ScriptForward{}, std::move(options)) {}

  /// Tensors, numbers, std::vector … : whatever a c10::IValue can be made of, in the order of forward()'s
  /// arguments.
  template <class... Args>
  c10::IValue operator()(const Args&... args) const {
    return forward_(module_, std::vector<c10::IValue>{c10::IValue(args)...});
  }

  Report report() const { return forward_.report(); }             ///< as Compiled::report
  std::string graph() const { return forward_.graph(); }          ///< as Compiled::graph
  std::string signature() const { return forward_.signature(); }  ///< as Compiled::signature

 private:
  torch::jit::Module module_;
  Compiled<detail::ScriptForward> forward_;
};

/// Compiles the forward() of a TorchScript module.
inline CompiledScript compile(torch::jit::Module module, Options options = {}) {
  return {std::move(module), std::move(options)};
}

}  // namespace antegrad
