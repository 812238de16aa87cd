#pragma once
#include <ATen/core/stack.h>

#include "capture/op_schema.h"

namespace antegrad::capture {

/// Ops of libraries that antegrad knows nothing of. What they do is unknown, so their kernels never run
/// during a capture, and their nodes stay as they are: neither removed nor merged nor computed again.

/// Refuses what cannot be recorded: collectives (a capture of one process would wait for others), and ops of
/// such libraries that give something else than tensors. Does nothing for ops of LibTorch.
void check_recordable(const OpSchema& schema);

/// Whether nothing says that calls of it may be left out: neither register_shape nor pt2_compliant_tag.
bool may_have_effects(const OpSchema& schema);

/// As infer_results, for an op with OpSchema::foreign: by register_shape, else by its Meta kernel, else
/// Error(UnsupportedOp). Results share memory with arguments only where the schema says so.
void infer_foreign_results(const OpSchema& schema, torch::jit::Stack& stack);

}  // namespace antegrad::capture
