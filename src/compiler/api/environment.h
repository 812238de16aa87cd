#pragma once
#include "antegrad/options.h"

namespace antegrad::compiler {

/// Returns the options with the ANTEGRAD_… environment variables of docs/options.md applied. Throws
/// Error(InvalidArgument) for a value that does not parse.
Options with_environment(Options options);

}  // namespace antegrad::compiler
