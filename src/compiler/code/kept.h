#pragma once
#include <string>
#include <vector>

#include "capture/kept.h"

namespace antegrad::compiler {

/// Runs the ops that tensors follow from which a captured function has kept, on the real inputs, and fills
/// them in. Inputs are not written, and random numbers are drawn again by whoever comes next.
void fill_kept(const capture::Kept& kept, const std::vector<at::Tensor>& inputs);

/// For a function that does so at every call.
[[noreturn]] void throw_keeps(const std::string& function);

}  // namespace antegrad::compiler
