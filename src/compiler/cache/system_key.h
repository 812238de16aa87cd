#pragma once
#include <string>
#include <string_view>

#include "cache/format/key.h"

namespace antegrad::compiler {

/// Returns the build id of this antegrad; empty when it was linked without one.
const std::string& own_build();

/// Adds what compiled code depends on besides its source: this antegrad, the compiler, the instruction set.
void add_system(cache::Key& key, std::string_view toolchain, std::string_view isa);
/// Returns why nothing can be cached in this process; empty when it can.
std::string why_not_cacheable();

}  // namespace antegrad::compiler
