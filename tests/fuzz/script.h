#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "intercept.h"

/// A check, written down as a C++ program that needs nothing of the fuzzer:
/// what is called is seen where LibTorch dispatches it, so ops need not know
/// how they are written.
namespace antegrad::fuzz {

using Tensors = std::vector<at::Tensor>;

/// While it lives, the check that runs on this thread is written down: the
/// tensors that the eager side makes, the function (in its first call), and
/// what is done with its results. Checks say where the function begins and
/// ends, what is compared, and which steps belong to the other side; outside of
/// a Script that does nothing.
class Script {
 public:
  Script();
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// With a main() that runs the steps with the function as it is, and compiled
  /// with `options` (statements about an antegrad::Options `options`), and says
  /// what differs.
  std::string program(const std::string& headline, const std::string& options = {}) const;

  struct Writer;

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

/// The call of the function, eagerly.
void script_call(const Tensors& inputs);
void script_results(const Tensors& outputs);
/// A statement whose results are kept from the first call on (Statement::kept) begins, and ends.
void script_keep();
void script_kept(size_t number, const Tensors& results);
/// Tensors that are compared at this point.
void script_look(const std::string& name, const Tensors& tensors);

/// As torch::autograd::grad and backward().
Tensors scripted_grad(const Tensors& roots, const Tensors& targets, const Tensors& tangents,
                      bool retain_graph, bool create_graph, bool allow_unused);
void scripted_backward(const Tensors& roots, const Tensors& tangents, bool retain_graph);

/// While it lives, nothing is written down.
class ScriptPause {
 public:
  ScriptPause();
  ~ScriptPause();
  ScriptPause(const ScriptPause&) = delete;
  ScriptPause& operator=(const ScriptPause&) = delete;

 private:
  Script::Writer* paused_;
  std::optional<test::Interception> unheard_;
};

}  // namespace antegrad::fuzz
