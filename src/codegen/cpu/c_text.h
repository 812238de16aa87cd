#pragma once
// Types, numbers and sizes as C text.
#include <string>
#include <string_view>
#include <variant>

#include "ir/types.h"

namespace antegrad::codegen::cpu {

std::string_view memory_type(ir::DType dtype);  ///< of an element in memory: "uint16_t" for f16 and bf16
std::string_view scalar_type(ir::DType dtype);  ///< of a variable: "float" for f16 and bf16, "_Bool" for bool

/// A number of the type of variables of a dtype, exactly.
std::string literal(ir::DType dtype, const std::variant<int64_t, double>& number);

/// An expression over the int64_t variables s0, s1, …; as a factor it stands in parentheses where it needs
/// them.
std::string dim_text(const ir::Dim& dim);
std::string dim_factor(const ir::Dim& dim);

}  // namespace antegrad::codegen::cpu
