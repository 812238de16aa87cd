#pragma once
#include <ATen/core/stack.h>

#include "aten/op_schema.h"

namespace antegrad::capture {

/// Ops of libraries that antegrad knows nothing of. Their real kernels never run during a capture. Unless
/// may_have_effects() is false, their nodes stay as they are: never removed, merged or recomputed.

/// Throws for ops that cannot be recorded: collectives (a capture in one process would wait for the others)
/// and foreign ops that return anything but tensors.
void check_recordable(const aten::OpSchema& schema);

/// Returns whether calls of a foreign op must not be left out: neither register_shape nor pt2_compliant_tag
/// says that they may.
bool may_have_effects(const aten::OpSchema& schema);

/// As infer_results, for an op with aten::OpSchema::foreign: by register_shape, else by its Meta kernel, else
/// from its written arguments where it returns nothing else. Otherwise throws Error(UnsupportedOp). Results
/// share memory with arguments only where the schema says so.
void infer_foreign_results(const aten::OpSchema& schema, torch::jit::Stack& stack);

}  // namespace antegrad::capture
