#pragma once
#include "compiler/cache/function_key.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// Returns what cache keys of the graph contain of LibTorch and of the state of the call that was captured.
KeyFacts key_facts(const ir::Graph& graph, const runtime::Ambient& ambient);

}  // namespace antegrad::compiler
