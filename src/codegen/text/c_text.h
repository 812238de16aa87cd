#pragma once
// Types, numbers and sizes as C text.
#include <set>
#include <string>
#include <string_view>

#include "schedule/kernel.h"

namespace antegrad::codegen {

std::string_view memory_type(ir::DType dtype);  ///< of an element in memory: "uint16_t" for f16 and bf16
std::string_view scalar_type(ir::DType dtype);  ///< of a variable: "float" for f16 and bf16, "_Bool" for bool

/// Returns the exact C literal of a number for a variable of a dtype. The number must not depend on sizes.
std::string literal(ir::DType dtype, const schedule::Literal& number);
/// Converts a C expression of type int64_t or double to such a number; the result needs no parentheses.
std::string literal(ir::DType dtype, const std::string& number, bool is_double);

/// Returns a C expression over the int64_t variables s0, s1, … Adds the names of prelude functions that it
/// calls to `functions`.
std::string dim_text(const ir::Dim& dim, std::set<std::string>& functions);

}  // namespace antegrad::codegen
