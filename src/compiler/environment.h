#pragma once
#include "antegrad/options.h"

namespace antegrad::compiler {

/// The options with the ANTEGRAD_… environment variables of docs/options.md applied. The only place that
/// reads them. Throws Error(InvalidArgument) for a value that does not parse.
Options with_environment(Options options);

}  // namespace antegrad::compiler
