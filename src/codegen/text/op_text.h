#pragma once
// C text of single ops.
#include <string>

#include "codegen/text/names.h"

namespace antegrad::codegen {

std::string from_memory(Names& names, ir::DType memory, const std::string& element);
std::string to_memory(Names& names, ir::DType memory, const std::string& value, ir::DType type);

/// Returns the value of an op that defines a scalar from others: Constant, Index, Compute, Cast.
std::string value_text(Names& names, const schedule::Op& op);

/// Returns the neutral element of a combination, for elements in memory and plain variables.
std::string neutral_text(ir::DType type, schedule::Combine combine);
/// Returns the statement that combines `value` into `into`, both of a plain type.
std::string combine_text(const std::string& into, const std::string& value, ir::DType type,
                         schedule::Combine combine);
/// Returns the operator of an OpenMP reduction clause.
std::string_view clause(schedule::Combine combine, ir::DType type);

}  // namespace antegrad::codegen
