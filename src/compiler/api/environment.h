#pragma once
#include "antegrad/cache.h"
#include "antegrad/options.h"
#include "cache/settings.h"

namespace antegrad::compiler {

/// Returns the options with the ANTEGRAD_… environment variables of docs/options.md applied. Throws
/// Error(InvalidArgument) for a value that does not parse.
Options with_environment(Options options);
/// Returns the cache settings: the user's configuration, with environment variables for what is left empty.
cache::Settings settings_of(const CacheConfig& config);

}  // namespace antegrad::compiler
