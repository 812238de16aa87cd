#pragma once
// C text of single steps.
#include <string>

#include "codegen/cpu/names.h"

namespace antegrad::codegen::cpu {

std::string from_memory(Names& names, ir::DType memory, const std::string& element);
std::string to_memory(Names& names, ir::DType memory, const std::string& value, ir::DType type);

/// The value of an op that defines a scalar from others: Constant, Index, Compute, Cast.
std::string value_text(Names& names, const schedule::Op& op);

/// How a target is called, begun, continued and ended. Values have the target's type.
std::string variable_type(const Target& target, schedule::Combine combine);
std::string neutral_text(Names& names, const Target& target, schedule::Combine combine);
std::string neutral_text(ir::DType type, schedule::Combine combine);  ///< in memory, or plain
/// A statement: into = into combined with value; both of a plain type.
std::string combine_text(const std::string& into, const std::string& value, ir::DType type,
                         schedule::Combine combine);
/// The operator of an OpenMP reduction clause.
std::string_view clause(schedule::Combine combine, ir::DType type);

}  // namespace antegrad::codegen::cpu
