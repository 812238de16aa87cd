#pragma once
#include <memory>

#include "compiler/function/replay.h"
#include "compiler/regions/run.h"

namespace antegrad::compiler {

/// The bodies of a region, each a compiled function. Regions with equal bodies and settings share them.
std::vector<RegionBody> code_of(const Region& region);

/// A body as a function that calls its ops. `plain` as in Region.
std::shared_ptr<const Replay> replay_of(const ir::Graph& body, const std::vector<int64_t>& plain);

}  // namespace antegrad::compiler
