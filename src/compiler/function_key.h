#pragma once
#include <string>

#include "antegrad/options.h"
#include "cache/key.h"
#include "compiler/captured.h"

namespace antegrad::compiler {

/// Why a function with these options cannot be cached; empty: it can.
std::string why_not_cacheable(const Options& options);

/// What a compiled function is found by. `graph`: as captured, over symbols where sizes may change.
cache::Key function_key(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts);

/// What the symbols of a function are found by: all graphs of one function at different sizes have the same.
cache::Key sizes_key(const Options& options, const ir::Graph& graph);

}  // namespace antegrad::compiler
