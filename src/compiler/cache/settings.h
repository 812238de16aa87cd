#pragma once
#include "cache/settings.h"

namespace antegrad::compiler {

/// Returns the settings with the ANTEGRAD_CACHE_… environment variables of docs/options.md for what is left
/// empty. Throws Error(InvalidArgument) for a value that does not parse.
cache::Settings with_environment(cache::Settings settings);

}  // namespace antegrad::compiler
