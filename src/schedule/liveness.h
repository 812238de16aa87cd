#pragma once
#include "ir/liveness.h"
#include "schedule/program.h"

namespace antegrad::schedule {

/// Returns the lifetimes of a program's values in steps; outputs of the graph are read after the last step.
ir::Liveness liveness(const Program& program);

}  // namespace antegrad::schedule
