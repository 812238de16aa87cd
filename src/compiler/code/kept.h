#pragma once
#include <string>
#include <vector>

#include "capture/kept.h"

namespace antegrad::compiler {

/// Computes the tensors that a captured function kept, by running the recorded ops on the real inputs, and
/// fills them in. Neither writes the inputs nor advances the random number generator.
void fill_kept(const capture::Kept& kept, const std::vector<at::Tensor>& inputs);

/// Throws the error for a function that keeps tensors in every call.
[[noreturn]] void throw_keeps_tensors(const std::string& function);

}  // namespace antegrad::compiler
