#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check.h"

namespace antegrad::fuzz {

/// A tensor that exists in both worlds, with its name in messages.
struct Tracked {
  std::string name;
  bool output = false;  ///< otherwise an input or a captured tensor
  at::Tensor eager;
  at::Tensor compiled;
};

/// Compares values of tensors of one dtype and shape.
std::optional<std::string> value_difference(const at::Tensor& eager, const at::Tensor& compiled);
/// Compares up to rounding (closeness.h).
std::optional<std::string> close_difference(const at::Tensor& eager, const at::Tensor& compiled,
                                            const CheckOptions& options);
std::optional<std::string> first_difference(const std::vector<Tracked>& tensors, const CheckOptions& options);

}  // namespace antegrad::fuzz
