#pragma once
// Types, numbers and sizes as C text.
#include <set>
#include <string>
#include <string_view>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

std::string_view memory_type(ir::DType dtype);  ///< of an element in memory: "uint16_t" for f16 and bf16
std::string_view scalar_type(ir::DType dtype);  ///< of a variable: "float" for f16 and bf16, "_Bool" for bool

/// A number of the type of variables of a dtype, exactly. It does not depend on sizes.
std::string literal(ir::DType dtype, const schedule::Literal& number);
/// The text of an int64_t or a double as such a number; it needs no parentheses.
std::string literal(ir::DType dtype, const std::string& number, bool is_double);

/// An expression over the int64_t variables s0, s1, … Names of the prelude's functions that it calls are
/// added to `functions`.
std::string dim_text(const ir::Dim& dim, std::set<std::string>& functions);

}  // namespace antegrad::codegen::cpu
