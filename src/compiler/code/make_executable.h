#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/plan/lowering.h"
#include "runtime/executable.h"

namespace antegrad::compiler {

/// Returns the code for given values of the symbols. `writes`: inputs that it may write to.
std::shared_ptr<const runtime::Executable> make_executable(const Lowered& code,
                                                           const std::vector<int64_t>& symbols = {},
                                                           const runtime::InputWrites& writes = {});

}  // namespace antegrad::compiler
