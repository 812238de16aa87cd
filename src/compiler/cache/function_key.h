#pragma once
#include <string>

#include "antegrad/options.h"
#include "cache/format/key.h"
#include "compiler/plan/plan.h"

namespace antegrad::compiler {

/// What keys contain of LibTorch and of the state of a call; key_facts() gathers it.
struct KeyFacts {
  std::string libtorch;    ///< version and build
  std::string ambient;     ///< the state of the thread that affects what ops do, as text
  std::string custom_ops;  ///< the schemas of ops that the version of LibTorch does not identify
};

/// Returns why a function with these options cannot be cached; empty when it can.
std::string why_not_cacheable(const Options& options);

/// Returns the cache key of a compiled function. `graph` is as captured, with symbols for dynamic sizes.
cache::Key function_key(const PlanSettings& settings, const ir::Graph& graph, const CaptureFacts& facts,
                        const KeyFacts& surroundings);

/// Returns the key for the symbols of a function, which is the same for its graphs at all sizes.
cache::Key sizes_key(const Options& options, const ir::Graph& graph, const KeyFacts& surroundings);

}  // namespace antegrad::compiler
