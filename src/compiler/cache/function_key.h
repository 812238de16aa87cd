#pragma once
#include <string>

#include "antegrad/options.h"
#include "cache/format/key.h"
#include "compiler/code/captured.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// Returns why a function with these options cannot be cached; empty when it can.
std::string why_not_cacheable(const Options& options);

/// Returns the cache key of a compiled function. `graph` is as captured, with symbols for dynamic sizes;
/// `ambient` is the state of the call that was captured.
cache::Key function_key(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts,
                        const runtime::Ambient& ambient);

/// Returns the key for the symbols of a function, which is the same for its graphs at all sizes.
cache::Key sizes_key(const Options& options, const ir::Graph& graph, const runtime::Ambient& ambient);

}  // namespace antegrad::compiler
