#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "antegrad/c.h"
#include "antegrad/options.h"

namespace antegrad::c {

struct ValueAndGradients {
  at::Tensor value;
  std::vector<at::Tensor> gradients;  ///< of the wanted inputs, in order
};

using State = std::vector<std::pair<std::string, at::Tensor>>;  ///< tensors with their names

/// Throws Error(InvalidArgument): only programs of torch.export have state.
[[noreturn]] void refuse_no_program();

}  // namespace antegrad::c

// The handles of antegrad/c.h, which are declared outside of any namespace.

struct antegrad_options {
  antegrad::Options options;
};

/// Not thread-safe.
struct antegrad_trainer {
  virtual ~antegrad_trainer() = default;
  /// Throws Error(InvalidArgument) for a name that neither the optimizer nor the step has.
  virtual void set(const std::string& name, double value) = 0;
  /// Returns the results of the program, the loss first.
  virtual std::vector<at::Tensor> train(const std::vector<at::Tensor>& inputs) = 0;
  virtual void save(const std::string& path) const = 0;
  virtual void load(const std::string& path) = 0;
};

/// Thread-safe.
struct antegrad_function {
  virtual ~antegrad_function() = default;
  /// Results may share memory with inputs and with each other.
  virtual std::vector<at::Tensor> call(std::vector<at::Tensor> inputs) const = 0;
  /// `wanted` are positions of inputs, which must be floating-point.
  virtual antegrad::c::ValueAndGradients value_and_gradients(std::vector<at::Tensor> inputs,
                                                             const std::vector<int64_t>& wanted) const = 0;
  /// Parameters, then buffers, with their names; empty for functions without state.
  virtual const antegrad::c::State& state() const {
    static const auto& none = *new antegrad::c::State;
    return none;
  }
  /// With respect to parameters, by name. Throws Error(InvalidArgument) for other names.
  virtual antegrad::c::ValueAndGradients value_and_state_gradients(std::vector<at::Tensor>,
                                                                   const std::vector<std::string>&) const {
    antegrad::c::refuse_no_program();
  }
  /// Throws Error(InvalidArgument) unless it is a program, or for an unknown optimizer.
  virtual std::unique_ptr<antegrad_trainer> trainer(const std::string&, const antegrad::Options&) const {
    antegrad::c::refuse_no_program();
  }
  /// Throws Error(InvalidArgument) unless it is a program or a function of a package.
  virtual void save(const std::string&) const { antegrad::c::refuse_no_program(); }
};

namespace antegrad::c {

/// Returns the forward() of a TorchScript file. Throws Error(Io) or Error(Parse).
std::unique_ptr<antegrad_function> load_script(const std::string& path, const Options& options);
/// Returns a program of torch.export. Throws Error(Io), Error(Parse), Error(UnsupportedOp) …
std::unique_ptr<antegrad_function> load_program_file(const std::string& path, const Options& options);
/// Returns a function of a package; with an empty name, its first one. Throws Error(Io),
/// Error(InvalidArgument).
std::unique_ptr<antegrad_function> load_package_function(const std::string& path, const std::string& name,
                                                         const Options& options);
/// The same for a training step.
std::unique_ptr<antegrad_trainer> load_package_step(const std::string& path, const std::string& name,
                                                    const Options& options);
/// Returns a graph given as text, compiled to kernels. Throws Error(Parse) or Error(Verify).
std::unique_ptr<antegrad_function> load_graph(const std::string& text, const Options& options);

}  // namespace antegrad::c
