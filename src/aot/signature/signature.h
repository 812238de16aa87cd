#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace antegrad::aot {

/// A tensor that a step refers to.
struct Source {
  enum class Kind : uint8_t {
    Undefined,
    Result,  ///< graph output `index`
    Input,   ///< the caller's tensor of input `index`
    View,    ///< what MakeView number `index` made
  } kind = Kind::Undefined;
  int32_t index = -1;
  bool operator==(const Source&) const = default;
};

// --- The calling convention: the steps around a run of the graph, in order.

/// Fills slot `slot` with a flat tensor over the memory that the inputs `members` share. It starts `offset`
/// elements before the first element of members[0].
struct MakeBase {
  int32_t slot = 0;
  std::vector<int32_t> members;
  int64_t offset = 0;
  int64_t elements = 0;
  bool escapes = false;  ///< it covers memory that belongs to none of the members
  bool operator==(const MakeBase&) const = default;
};
/// Fills slot `slot` with the state from which random ops of this run start.
struct TakeRngState {
  int32_t slot = 0;
  bool operator==(const TakeRngState&) const = default;
};
/// Replaces the tensors in these slots, which stand for generators (aten/generators.h), by their states. The
/// generators are locked until the end of the call.
struct TakeGenerators {
  std::vector<int32_t> inputs;
  bool operator==(const TakeGenerators&) const = default;
};
struct RunGraph {
  bool operator==(const RunGraph&) const = default;
};
/// Resizes the caller's input (resize_ inside the function).
struct ResizeInput {
  int32_t input = 0;
  std::vector<int64_t> sizes;
  bool operator==(const ResizeInput&) const = default;
};
/// Copies graph output `result` to the memory of slot `slot`. Of a base, only what its members cover: the
/// gaps between them may be other inputs.
struct WriteBack {
  int32_t slot = 0;
  int32_t result = 0;
  std::vector<int32_t> members;  ///< empty: the whole slot
  bool with_history = false;     ///< autograd sees the write: gradients of the input continue to the result
  bool operator==(const WriteBack&) const = default;
};
/// Sets the generator of an input to the state in graph output `result`.
struct SetGenerator {
  int32_t input = 0;
  int32_t result = 0;
  bool operator==(const SetGenerator&) const = default;
};
/// Makes the call's autograd node the history of that tensor, whose gradient is the graph's tangent number
/// `tangent`.
struct Attach {
  Source source;
  int32_t tangent = 0;
  bool operator==(const Attach&) const = default;
};
/// Sets the version counter of a fresh tensor that in-place ops made.
struct SetVersion {
  int32_t result = 0;
  uint32_t version = 0;
  bool operator==(const SetVersion&) const = default;
};
/// Saves what the backward graph reads. By now saved results have their history, and inputs are not written
/// yet.
struct SaveForBackward {
  bool operator==(const SaveForBackward&) const = default;
};
/// Calls a view op on a real tensor, with autograd watching. Views are numbered in the order of these steps.
/// Each traced view is made once, so that each view has the base that it had in the trace.
struct MakeView {
  Source source;         ///< takes the place of value 0 in the node
  ir::Node node;         ///< the offset of "antegrad.strided" is relative to the source's own
  int32_t result = 0;    ///< which of the op's results
  bool no_grad = false;  ///< made while grad mode was off, or gets a history of its own
  bool operator==(const MakeView&) const = default;
};
/// Adds the next user output.
struct MakeOutput {
  Source source;
  bool requires_grad = false;
  bool operator==(const MakeOutput&) const = default;
};
/// Turns a tensor object into another view of memory, its own or another tensor's, as t_ or set_ left it.
/// Takes effect after all other steps: sources refer to tensors as they were before.
struct SetTensor {
  Source tensor;
  Source source;
  bool operator==(const SetTensor&) const = default;
};
struct BumpVersion {
  int32_t input = 0;
  uint32_t by = 0;
  bool operator==(const BumpVersion&) const = default;
};
struct RequireGrad {
  int32_t input = 0;
  bool value = false;
  bool detach = false;  ///< by detach_(), which also takes off a history
  bool operator==(const RequireGrad&) const = default;
};

/// Has a tensor keep its gradient in .grad.
struct RetainGrad {
  Source source;
  bool operator==(const RetainGrad&) const = default;
};

using Step = std::variant<MakeBase, TakeRngState, RunGraph, Attach, SetVersion, SaveForBackward, ResizeInput,
                          WriteBack, MakeView, MakeOutput, SetTensor, BumpVersion, RequireGrad,
                          TakeGenerators, SetGenerator, RetainGrad>;

/// Inputs that must be on one storage at a call, at these distances (in elements) from the first of them.
struct SharedMemory {
  std::vector<int32_t> inputs;
  std::vector<int64_t> offsets;
  bool operator==(const SharedMemory&) const = default;
};

/// Two inputs, the first of them written, that do not overlap when they are on one storage at this distance
/// (in elements).
struct DisjointInputs {
  int32_t written = 0;
  int32_t other = 0;
  int64_t distance = 0;
  bool operator==(const DisjointInputs&) const = default;
};

/// Everything the runtime needs besides the graph. Slots 0 … inputs-1 are the caller's inputs (user's, then
/// lifted); MakeBase and TakeRngState fill the slots after them.
struct Signature {
  int32_t user_inputs = 0;
  int32_t inputs = 0;
  int32_t slots = 0;
  int32_t user_outputs = 0;
  std::vector<int32_t> graph_inputs;  ///< per input of the graph: its slot
  std::vector<Step> steps;
  std::vector<SharedMemory> shared;  ///< aliasing that the graph relies on
  /// Inputs whose memory is written: no other input may overlap it, except as in `shared`.
  std::vector<int32_t> written;
  std::vector<DisjointInputs> apart;              ///< pairs that need no overlap test at a call
  std::vector<std::pair<int32_t, int32_t>> same;  ///< inputs that are one tensor object
  /// Inputs whose metadata change: no other input may be the same object, except as in `same`.
  std::vector<int32_t> changed;
  std::vector<int32_t> views;      ///< inputs that are captured as views of others, and not read themselves
  std::vector<int32_t> gradients;  ///< per output of role Grad: the input that it is the gradient of
  /// Inputs that the backward pass writes, and how many times. Their new contents follow the gradients.
  std::vector<std::pair<int32_t, int32_t>> backward_writes;
  std::vector<int32_t> fixed_offsets;  ///< inputs whose storage offset the graph depends on
  bool operator==(const Signature&) const = default;
};

/// Returns the step that fills the slot, or null.
const MakeBase* find_base(const Signature& signature, int32_t slot);

std::string print(const Signature& signature);  ///< one step a line, for people and tests

}  // namespace antegrad::aot
