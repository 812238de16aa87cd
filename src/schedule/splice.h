#pragma once
#include <functional>

#include "schedule/program.h"

namespace antegrad::schedule {

/// Puts the programs of the graphs that the program calls (ir/calls.h) in place of the calls, so that memory
/// is planned for all of it. `program_of` is asked once for equal graphs.
Program splice(Program program, const std::function<Program(const ir::Graph&)>& program_of);

}  // namespace antegrad::schedule
