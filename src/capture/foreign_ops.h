#pragma once
#include <ATen/core/stack.h>

#include <optional>
#include <string>

#include "aten/op_schema.h"

namespace antegrad::capture {

/// Ops of libraries that antegrad knows nothing of, and functional collectives. Their real kernels never run
/// during a capture. Nodes for which resource_of() returns something stay as they are: never removed, merged
/// or recomputed.

/// Throws for ops that cannot be recorded: collectives that write to their arguments, and foreign ops that
/// return anything but tensors.
void check_recordable(const aten::OpSchema& schema);

/// Returns what a call of a foreign op acts on, "" if nothing is known, or nothing when calls may be left
/// out, according to register_effect, register_shape or pt2_compliant_tag.
std::optional<std::string> resource_of(const aten::OpSchema& schema, c10::ArrayRef<c10::IValue> arguments);

/// As infer_results, for an op with aten::OpSchema::foreign: by register_shape, else by its Meta kernel, else
/// from its written arguments where it returns nothing else. Otherwise throws Error(UnsupportedOp). Results
/// share memory with arguments only where the schema says so.
void infer_foreign_results(const aten::OpSchema& schema, torch::jit::Stack& stack);

}  // namespace antegrad::capture
