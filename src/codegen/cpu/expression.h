#pragma once
// The expressions of ops.def as C text: ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ and calls, over
// the letters a … h, numbers, pi, inf and nan.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"

namespace antegrad::codegen::cpu {

/// The expression with arguments[0] for a, arguments[1] for b, … Arithmetic is that of C in the operand type:
/// results are rounded or wrapped to it after each operation. && and || evaluate both sides. Names of the
/// prelude's functions that it calls are added to `functions`. Throws Error(Internal) for what
/// expression_supported() denies.
std::string expression_text(std::string_view text, ir::DType operand,
                            const std::vector<std::string>& arguments, std::set<std::string>& functions);

/// Whether the expression can be printed: it parses, and all its functions exist for the operand type.
bool expression_supported(std::string_view text, ir::DType operand);

}  // namespace antegrad::codegen::cpu
