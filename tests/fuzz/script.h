#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/intercept.h"

/// Writes a check as a C++ program that does not need the fuzzer. Calls are recorded where LibTorch
/// dispatches them, so ops need no code for it.
namespace antegrad::fuzz {

using Tensors = std::vector<at::Tensor>;

/// Records the check that runs on this thread while it exists: the tensors that the eager side makes, the
/// function (in its first call), and what is done with its results. Checks report where the function begins
/// and ends, what is compared, and which steps belong to the other side; without a Script those reports do
/// nothing.
class Script {
 public:
  Script();
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// Returns the program, with a main() that runs the steps with the plain function and with the one compiled
  /// with `options` (statements about an antegrad::Options `options`), and prints the differences.
  std::string program(const std::string& headline, const std::string& options = {}) const;

  struct Writer;

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

/// Reports the eager call of the function.
void script_call(const Tensors& inputs);
void script_results(const Tensors& outputs);
/// Report where a statement begins and ends whose results are kept from the first call on (Statement::kept).
void script_keep();
void script_kept(size_t number, const Tensors& results);
/// Reports tensors that are compared at this point.
void script_look(const std::string& name, const Tensors& tensors);

/// Like torch::autograd::grad and backward(), and recorded.
Tensors scripted_grad(const Tensors& roots, const Tensors& targets, const Tensors& tangents,
                      bool retain_graph, bool create_graph, bool allow_unused);
void scripted_backward(const Tensors& roots, const Tensors& tangents, bool retain_graph);

/// Pauses recording while it exists.
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
