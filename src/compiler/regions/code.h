#pragma once
#include <memory>

#include "compiler/regions/run.h"

namespace antegrad::compiler {

/// The bodies of a region, each a compiled function. Regions with equal bodies and settings share them.
std::vector<RegionBody> code_of(const Region& region);

}  // namespace antegrad::compiler
