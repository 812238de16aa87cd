#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check.h"

namespace antegrad::fuzz {

/// A tensor that both worlds have, with the name it has in messages.
struct Tracked {
  std::string name;
  bool output = false;  ///< else an input or a captured tensor
  at::Tensor eager;
  at::Tensor compiled;
};

/// For tensors of one dtype and shape.
std::optional<std::string> value_difference(const at::Tensor& eager, const at::Tensor& compiled);
/// Up to rounding, as far as it can be told (closeness.h).
std::optional<std::string> close_difference(const at::Tensor& eager, const at::Tensor& compiled,
                                            const CheckOptions& options);
std::optional<std::string> first_difference(const std::vector<Tracked>& tensors, const CheckOptions& options);

}  // namespace antegrad::fuzz
