#pragma once
#include "antegrad/function.h"
#include "cache/directory/outcome.h"

namespace antegrad::compiler {

/// Converts counts of outcomes to their form in public reports.
inline CacheCounts counts_of(const cache::Counters& counts) {
  return {counts.hits, counts.misses, counts.guard_misses, counts.bypasses, counts.corrupt, counts.refused};
}

}  // namespace antegrad::compiler
