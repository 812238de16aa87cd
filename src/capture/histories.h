#pragma once
#include <unordered_map>

#include "capture/recorder.h"

namespace torch::autograd {
struct Node;
}

namespace antegrad::capture {

/// Returns whether running the recorded ops on real tensors would give all fakes, and the real tensors that
/// ops have written, the histories that they have: made by ops alone, without hooks, and without leaves of
/// their own. `first_sequence`: autograd's sequence number when the recorder began.
bool histories_are_of_ops(Recorder& recorder, uint64_t first_sequence);

/// Whether LibTorch makes such a node whenever the op is called.
bool is_of_op(torch::autograd::Node& node);
bool has_hooks(torch::autograd::Node& node);

/// Whether each live fake has a history of its own.
using Histories = std::unordered_map<const FakeTensor*, bool>;
/// Takes the histories off all fakes, which frees what nobody else holds.
Histories drop_histories(Recorder& recorder);

/// Gives the fake the history of `real` if `history` is true, and the version counter if `counter` is.
void take_history(const at::Tensor& fake, const at::Tensor& real, bool history, bool counter);

}  // namespace antegrad::capture
