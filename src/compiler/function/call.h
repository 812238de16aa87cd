#pragma once
#include "antegrad/function.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// One call of a compiled function. It refers to what the caller has, and lives as long as the call.
struct Call {
  const Leaves& leaves;                                ///< the arguments, flattened
  const detail::RunOnTensors& run;                     ///< runs the user's function, to capture it
  const detail::KeepRun& keep;                         ///< makes a run that may outlive the call
  runtime::Ambient ambient = runtime::Ambient::now();  ///< the thread's settings: read here, once per call
};

}  // namespace antegrad::compiler
