#pragma once
#include <string>
#include <string_view>

#include "cache/format/key.h"

namespace antegrad::compiler {

/// The build id of this antegrad; empty: it was linked without one.
const std::string& own_build();

/// What compiled code depends on besides what was compiled: this antegrad, the compiler, the processor.
void add_system(cache::Key& key, std::string_view toolchain, std::string_view isa);
/// Why nothing of this process can be cached; empty: it can.
std::string why_not_cacheable();

}  // namespace antegrad::compiler
