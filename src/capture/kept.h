#pragma once
#include <c10/core/Storage.h>

#include <vector>

#include "capture/capture.h"
#include "capture/recorder.h"

namespace torch::autograd {
struct Node;
}

namespace antegrad::capture {

/// Memory of tensors that outlive the capture in which they were made, because the function has stored them
/// (a table made on first use, a mask, a state). Whatever holds them cannot be told of replacements, so they
/// become real in place: views of outside memory become views of the real memory, and other memory is filled
/// with the results of running the recorded ops.
struct KeptMemory {
  c10::Storage storage;
  ir::ValueId root;  ///< the first value on it
};

/// How the contents of stored tensors are computed.
struct Kept {
  Trace trace;                     ///< its outputs are the contents; it has no backward pass and no effects
  std::vector<KeptMemory> memory;  ///< per output
};

/// The result of find_kept().
struct KeptTensors {
  size_t count = 0;                ///< number of stored tensors
  std::vector<KeptMemory> memory;  ///< of those that are not views of outside memory
  std::vector<at::Tensor> fakes;
};

/// The autograd nodes of the capture's arguments. Where the history of a stored tensor leads to one of them,
/// it is redirected to the real argument.
using InputHistories = std::vector<const torch::autograd::Node*>;

/// Finds the stored tensors, and makes those real that are views of outside memory. To be called when
/// antegrad holds no tensors of the capture but `tangents`.
KeptTensors find_kept(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                      const InputHistories& histories, const std::vector<at::Tensor>& tangents);

/// Has `options.fill_kept` fill the memory. `trace` is of the same capture, complete up to its forward pass.
/// Returns false when some of it could not be filled: it depends on inputs without contents (stand_in.h),
/// only a backward pass would compute it, or `options.fill_kept` is unset. Throws what running the ops
/// throws.
bool fill_kept(const KeptTensors& kept, const Trace& trace, const std::vector<at::Tensor>& inputs,
               const CaptureOptions& options);

/// Gives memory number `k` its contents.
void fill(const Kept& kept, size_t k, const at::Tensor& contents);

/// Reunites stored and returned tensors that shared memory in the capture: they share memory again, and are
/// the very same tensor where it is neither a view nor has a history.
void share(const std::vector<KeptOutput>& kept_outputs, std::vector<at::Tensor>& outputs);

}  // namespace antegrad::capture
