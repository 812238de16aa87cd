#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/types.h"

namespace antegrad::codegen {

/// Returns the C function for a function in an expression: one of the prelude for the operand type
/// (`ag_exp_f32`) or for all types (`ag_below_32`), or a compiler builtin that compiles to one instruction.
std::optional<std::string> function_name(std::string_view function, ir::DType type);

}  // namespace antegrad::codegen
