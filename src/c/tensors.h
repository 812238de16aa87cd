#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "antegrad/c.h"

namespace antegrad::c {

/// A failure that has no ErrorCode.
struct BufferTooSmall {
  std::string text;
};

/// The memory as a tensor, without a copy. Throws Error(InvalidArgument) for what cannot be one.
std::vector<at::Tensor> borrow(const antegrad_tensor* inputs, size_t count);

/// Throws Error(InvalidArgument) for indices that name no input, or one that has no derivative.
std::vector<int64_t> check_wanted(const std::vector<at::Tensor>& inputs, const size_t* wanted, size_t count);

struct Output {
  antegrad_tensor* tensor = nullptr;
  std::string name;  ///< for errors
};

/// Hands results over. Throws before anything is written when one does not fit.
void give(std::vector<at::Tensor> results, const std::vector<Output>& outputs);

}  // namespace antegrad::c
