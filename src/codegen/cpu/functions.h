#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/types.h"

namespace antegrad::codegen::cpu {

/// The C function that a function of expressions stands for: `ag_exp_f32` of the prelude for operands of a
/// type, one of the prelude for all types (`ag_below_32`), or a builtin of compilers where that is one
/// instruction.
std::optional<std::string> function_name(std::string_view function, ir::DType type);

}  // namespace antegrad::codegen::cpu
