#pragma once
#include <vector>

#include "aot/emitter.h"
#include "aot/functionalize.h"
#include "aot/memory.h"

namespace antegrad::aot {

/// Per graph input: whether the function writes to its memory. What a backward pass does to an incoming
/// gradient is not counted.
std::vector<bool> find_written(const capture::Trace& trace);

/// The inputs of the functional graph: one per traced input, but for those that share memory and are written,
/// which become regions of a flat base. Fills the part of the signature that comes before the run; returns,
/// per slot, the root that its contents are on (not valid: no tensor, or replaced by a base).
std::vector<RootId> add_inputs(const capture::Trace& trace, Emitter& emit, Memory& memory,
                               Signature& signature);

/// The outputs of the functional graph and the steps after the run. To be called where the forward pass ends.
void finish_signature(const capture::Trace& trace, const std::vector<RootId>& roots, Emitter& emit,
                      Memory& memory, FunctionalGraph& result);

/// The gradients as the last outputs of the graph, and after them what the backward pass writes to inputs.
/// `generations`: of all roots, where the forward pass
/// ended.
void add_gradients(const capture::Trace& trace, const std::vector<RootId>& roots,
                   const IdMap<RootId, int32_t>& generations, Memory& memory, FunctionalGraph& result);

}  // namespace antegrad::aot
