#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "antegrad/c.h"
#include "antegrad/options.h"

namespace antegrad::c {

struct ValueAndGradients {
  at::Tensor value;
  std::vector<at::Tensor> gradients;  ///< of the wanted inputs, in their order
};

}  // namespace antegrad::c

// The handles of antegrad/c.h, which names them outside of any namespace.

struct antegrad_options {
  antegrad::Options options;
};

/// Thread-safe.
struct antegrad_function {
  virtual ~antegrad_function() = default;
  /// Results may share memory with inputs and with each other.
  virtual std::vector<at::Tensor> call(std::vector<at::Tensor> inputs) const = 0;
  /// `wanted`: places among the inputs, which are of floating point.
  virtual antegrad::c::ValueAndGradients value_and_gradients(std::vector<at::Tensor> inputs,
                                                             const std::vector<int64_t>& wanted) const = 0;
};

namespace antegrad::c {

/// The forward() of a TorchScript file. Throws Error(Io), Error(Parse).
std::unique_ptr<antegrad_function> load_script(const std::string& path, const Options& options);
/// Graph text, as kernels. Throws Error(Parse), Error(Verify).
std::unique_ptr<antegrad_function> load_graph(const std::string& text, const Options& options);

}  // namespace antegrad::c
