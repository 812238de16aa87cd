#pragma once
#include "antegrad/function.h"
#include "compiler/code/lowering.h"
#include "compiler/function/version.h"

namespace antegrad::compiler {

/// What a version of a function became, as texts. Compiles nothing.
Explanation explain(const Version& version, const Lowering& lowering);

}  // namespace antegrad::compiler
