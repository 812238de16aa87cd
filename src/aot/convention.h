#pragma once
#include <vector>

#include "aot/emitter.h"
#include "aot/functionalize.h"
#include "aot/memory.h"

namespace antegrad::aot {

/// Returns, per graph input, whether the function writes to its memory. Writes of a backward pass to an
/// incoming gradient do not count.
std::vector<bool> find_written(const capture::Trace& trace);

/// Adds the inputs of the functional graph: one per traced input, except that those which share memory and
/// are written become regions of a flat base. Fills the part of the signature that precedes the run. Returns,
/// per slot, the root that its contents are on (invalid where there is no tensor, or a base replaces it).
std::vector<RootId> add_inputs(const capture::Trace& trace, Emitter& emit, Memory& memory,
                               Signature& signature);

/// Adds the outputs of the functional graph and the steps after the run. To be called where the forward pass
/// ends.
void finish_signature(const capture::Trace& trace, const std::vector<RootId>& roots, Emitter& emit,
                      Memory& memory, FunctionalGraph& result);

/// Adds the gradients as the last outputs of the graph, and after them what the backward pass writes to
/// inputs. `generations`: those of all roots where the forward pass ended.
void add_gradients(const capture::Trace& trace, const std::vector<RootId>& roots,
                   const IdMap<RootId, int32_t>& generations, Memory& memory, FunctionalGraph& result);

}  // namespace antegrad::aot
