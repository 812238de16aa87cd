#pragma once
#include <ATen/core/Tensor.h>

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
/// Returns a graph given as text, compiled to kernels. Throws Error(Parse) or Error(Verify).
std::unique_ptr<antegrad_function> load_graph(const std::string& text, const Options& options);

}  // namespace antegrad::c
