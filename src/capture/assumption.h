#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

namespace c10 {
class Error;
}

namespace antegrad::capture {

class Recorder;

/// Answers `equal(self, other)`, whose arguments are on the stack, where that needs no data: tensors of
/// different sizes are not equal. Otherwise assumes an answer and records a check of it, which throws when
/// the graph runs on tensors for which the answer is another. False when nothing can be assumed: in a
/// backward pass, which cannot be run again eagerly.
bool answer_equal(Recorder& recorder, torch::jit::Stack& stack);

/// Whether this was thrown by such a check. The call has had no effect but for random numbers drawn.
bool is_broken_assumption(const c10::Error& error);

}  // namespace antegrad::capture
