#pragma once
#include "antegrad/function.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// One call of a compiled function. Refers to objects of the caller and lives no longer than the call.
struct Call {
  const Leaves& leaves;                                ///< the arguments, flattened
  const detail::RunOnTensors& run;                     ///< runs the user's function, for capture
  const detail::KeepRun& keep;                         ///< returns a run that may outlive the call
  runtime::Ambient ambient = runtime::Ambient::now();  ///< the thread's settings, read once per call
};

}  // namespace antegrad::compiler
