#pragma once
// Prints the expressions of ops.def as C: ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ and calls, over
// the letters a … h, numbers, pi, inf and nan.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"

namespace antegrad::codegen {

/// Prints the expression with arguments[0] for a, arguments[1] for b, … Arithmetic is C arithmetic in the
/// operand type: every operation rounds or wraps to it. && and || evaluate both sides. Adds the names of
/// prelude functions that it calls to `functions`. Throws Error(Internal) for expressions that
/// expression_supported() rejects.
std::string expression_text(std::string_view text, ir::DType operand,
                            const std::vector<std::string>& arguments, std::set<std::string>& functions);

/// Whether the expression can be printed: it parses, and all its functions exist for the operand type.
bool expression_supported(std::string_view text, ir::DType operand);

}  // namespace antegrad::codegen
