#pragma once
#include "antegrad/function.h"
#include "compiler/function/version.h"
#include "compiler/plan/lowering.h"

namespace antegrad::compiler {

/// Describes what a version was compiled to, and how that instance of it writes to inputs. Compiles nothing.
Explanation explain(const Version& version, const Instance& instance, const Lowering& lowering);

}  // namespace antegrad::compiler
