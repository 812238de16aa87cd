#pragma once
#include <string>

#include "antegrad/options.h"
#include "cache/format/key.h"
#include "compiler/code/captured.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// Why a function with these options cannot be cached; empty: it can.
std::string why_not_cacheable(const Options& options);

/// What a compiled function is found by. `graph`: as captured, over symbols where sizes may change;
/// `ambient`: of the call that it was captured for.
cache::Key function_key(const CaptureSettings& settings, const ir::Graph& graph, const CaptureFacts& facts,
                        const runtime::Ambient& ambient);

/// What the symbols of a function are found by: all graphs of one function at different sizes have the same.
cache::Key sizes_key(const Options& options, const ir::Graph& graph, const runtime::Ambient& ambient);

}  // namespace antegrad::compiler
