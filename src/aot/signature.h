#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace antegrad::aot {

/// A tensor that a step works with.
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

// --- The calling convention: what to do around a run of the graph, in order.

/// Slot `slot` becomes a flat tensor over the memory that the inputs `members` share; it starts `offset`
/// elements before the first element of members[0].
struct MakeBase {
  int32_t slot = 0;
  std::vector<int32_t> members;
  int64_t offset = 0;
  int64_t elements = 0;
  bool escapes = false;  ///< it covers memory that is in none of the members
  bool operator==(const MakeBase&) const = default;
};
/// Slot `slot` becomes the state that random ops of this run start from.
struct TakeRngState {
  int32_t slot = 0;
  bool operator==(const TakeRngState&) const = default;
};
struct RunGraph {
  bool operator==(const RunGraph&) const = default;
};
/// The caller's input grows to these sizes (resize_ inside the function).
struct ResizeInput {
  int32_t input = 0;
  std::vector<int64_t> sizes;
  bool operator==(const ResizeInput&) const = default;
};
/// The memory of slot `slot` takes the contents of graph output `result`. Of a base only what its members
/// cover: the gaps between them may be other inputs.
struct WriteBack {
  int32_t slot = 0;
  int32_t result = 0;
  std::vector<int32_t> members;  ///< empty: all of the slot
  bool with_history = false;     ///< autograd sees the write: gradients go on to the result
  bool operator==(const WriteBack&) const = default;
};
/// Gradients of that tensor are the graph's tangent number `tangent`: the call's autograd node becomes its
/// history.
struct Attach {
  Source source;
  int32_t tangent = 0;
  bool operator==(const Attach&) const = default;
};
/// The version of a fresh tensor, when in-place ops made it.
struct SetVersion {
  int32_t result = 0;
  uint32_t version = 0;
  bool operator==(const SetVersion&) const = default;
};
/// Keeps what the backward graph reads. Results that are kept have their history by now; inputs are not
/// written yet.
struct SaveForBackward {
  bool operator==(const SaveForBackward&) const = default;
};
/// A view op on a real tensor, with autograd watching: views are numbered in the order of these steps. Each
/// traced view is made once, so that what was a view of what stays as it was.
struct MakeView {
  Source source;         ///< stands where the node names value 0
  ir::Node node;         ///< "antegrad.strided" takes its offset relative to the source's own
  int32_t result = 0;    ///< which of the op's results
  bool no_grad = false;  ///< made where grad mode was off, or it gets a history of its own
  bool operator==(const MakeView&) const = default;
};
/// The next user output.
struct MakeOutput {
  Source source;
  bool requires_grad = false;
  bool operator==(const MakeOutput&) const = default;
};
/// A tensor object becomes another view of memory, its own or another tensor's, as t_ or set_ left it. Takes
/// effect after all other steps: sources name tensors as they were before.
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
  bool operator==(const RequireGrad&) const = default;
};

using Step = std::variant<MakeBase, TakeRngState, RunGraph, Attach, SetVersion, SaveForBackward, ResizeInput,
                          WriteBack, MakeView, MakeOutput, SetTensor, BumpVersion, RequireGrad>;

/// Inputs that one run must find on one storage, at these distances (elements) from the first of them.
struct SharedMemory {
  std::vector<int32_t> inputs;
  std::vector<int64_t> offsets;
  bool operator==(const SharedMemory&) const = default;
};

/// Two inputs, the first of them written, that lie on one storage without overlapping at this distance
/// (elements).
struct Apart {
  int32_t written = 0;
  int32_t other = 0;
  int64_t distance = 0;
  bool operator==(const Apart&) const = default;
};

/// Everything the runtime needs besides the graph. Slots 0 … inputs-1 are the caller's inputs (user, then
/// lifted); MakeBase fills the slots after them.
struct Signature {
  int32_t user_inputs = 0;
  int32_t inputs = 0;
  int32_t slots = 0;
  int32_t user_outputs = 0;
  std::vector<int32_t> graph_inputs;  ///< per input of the graph: its slot
  std::vector<Step> steps;
  std::vector<SharedMemory> shared;  ///< aliasing that the graph relies on
  std::vector<int32_t>
      written;               ///< inputs whose memory is written: no other input may overlap it, bar `shared`
  std::vector<Apart> apart;  ///< pairs that need no further test at a call
  std::vector<std::pair<int32_t, int32_t>> same;  ///< inputs that are one tensor object
  std::vector<int32_t>
      changed;  ///< inputs whose metadata change: no other input may be the same object, bar `same`
  std::vector<int32_t> views;      ///< inputs that are views of others: not read themselves
  std::vector<int32_t> gradients;  ///< per output of role Grad: the input that it is the gradient of
  /// Inputs that the backward pass writes, and how many times. What they become follows the gradients.
  std::vector<std::pair<int32_t, int32_t>> backward_writes;
  std::vector<int32_t> fixed_offsets;  ///< inputs whose storage offset is part of the program
  bool operator==(const Signature&) const = default;
};

const MakeBase* find_base(const Signature& signature, int32_t slot);  ///< that fills the slot; null: none

std::string print(const Signature& signature);  ///< one step a line, for people and tests

}  // namespace antegrad::aot
