#pragma once
#include "antegrad/cache.h"
#include "antegrad/options.h"
#include "cache/settings.h"

namespace antegrad::compiler {

/// The options with the ANTEGRAD_… environment variables of docs/options.md applied. The only place that
/// reads them. Throws Error(InvalidArgument) for a value that does not parse.
Options with_environment(Options options);
/// Where caches are: what the user configured, and the environment for what is empty.
cache::Settings settings_of(const CacheConfig& config);

}  // namespace antegrad::compiler
