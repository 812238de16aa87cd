#pragma once
// C text of single ops.
#include <string>

#include "codegen/cpu/names.h"

namespace antegrad::codegen::cpu {

std::string from_memory(Names& names, ir::DType memory, const std::string& element);
std::string to_memory(Names& names, ir::DType memory, const std::string& value, ir::DType type);

/// Returns the value of an op that defines a scalar from others: Constant, Index, Compute, Cast.
std::string value_text(Names& names, const schedule::Op& op);

/// The type and the initial value of a target's variable.
std::string variable_type(const Target& target, schedule::Combine combine);
std::string neutral_text(Names& names, const Target& target, schedule::Combine combine);
/// For elements in memory and plain variables.
std::string neutral_text(ir::DType type, schedule::Combine combine);
/// Returns the statement that combines `value` into `into`, both of a plain type.
std::string combine_text(const std::string& into, const std::string& value, ir::DType type,
                         schedule::Combine combine);
/// Returns the operator of an OpenMP reduction clause.
std::string_view clause(schedule::Combine combine, ir::DType type);

}  // namespace antegrad::codegen::cpu
