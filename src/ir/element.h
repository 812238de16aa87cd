#pragma once
#include <cstdint>

#include "ir/types.h"

namespace antegrad::ir {

bool is_half(DType dtype);  ///< f16 or bf16

/// Returns the number as converted to a floating type by LibTorch: to the half types by way of f32.
double rounded_to(DType dtype, double number);
double rounded_to(DType dtype, int64_t number);

/// Returns whether LibTorch converts the number to the type without overflow. Other numbers are errors where
/// it checks, and wrap around or become infinite where it does not. NaN and infinities fit all floating
/// types, everything fits bool.
bool fits(DType dtype, double number);
bool fits(DType dtype, int64_t number);

}  // namespace antegrad::ir
