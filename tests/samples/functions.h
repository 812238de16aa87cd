#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace antegrad::samples {

/// A differentiable function that is not one ATen overload, or whose overload cannot be called boxed.
struct Function {
  std::string name;  ///< as in PyTorch's op database: "nn.functional.normalize", "H"
  std::string args;  ///< tensors in the text form of table.h, separated by blanks; `_` is undefined
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)> call;
};

const std::vector<Function>& functions();

/// Returns new tensors, the same for the same seed.
std::vector<at::Tensor> arguments_of(const Function& function, uint64_t seed);

}  // namespace antegrad::samples
