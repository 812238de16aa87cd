#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "antegrad/c.h"

namespace antegrad::c {

/// A failure without an ErrorCode.
struct BufferTooSmall {
  std::string text;
};

/// Returns the memory as tensors, without copying. Throws Error(InvalidArgument) for invalid descriptions.
std::vector<at::Tensor> borrow(const antegrad_tensor* inputs, size_t count);

/// Throws Error(InvalidArgument) for indices that are out of range or refer to an input without a derivative.
std::vector<int64_t> check_wanted(const std::vector<at::Tensor>& inputs, const size_t* wanted, size_t count);

struct Output {
  antegrad_tensor* tensor = nullptr;
  std::string name;  ///< for errors
};

/// Writes results to the outputs. Throws before anything is written when one does not fit.
void give(std::vector<at::Tensor> results, const std::vector<Output>& outputs);

}  // namespace antegrad::c
