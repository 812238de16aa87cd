#pragma once
#include <string>
#include <vector>

#include "codegen/text/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {

/// Prints a Scatter of `value` with atomics. `positions` are the texts of its checked indices.
void print_scatter(Writer& out, Names& names, const schedule::Op& op,
                   const std::vector<std::string>& positions, const std::string& value);

}  // namespace antegrad::codegen::cuda
