#pragma once
#include <c10/core/Storage.h>

#include <vector>

#include "capture/capture.h"
#include "capture/recorder.h"

namespace torch::autograd {
struct Node;
}

namespace antegrad::capture {

/// Tensors that outlive the capture they were made in: a function has stored them (a table made on first use,
/// a mask, a state). What holds them cannot be told of other ones, so they become real themselves: views of
/// memory outside go on as views of it, and other memory is filled with what running the recorded ops gives.
struct KeptMemory {
  c10::Storage storage;
  ir::ValueId root;  ///< the first value on it
};

/// What is to be computed for them.
struct Kept {
  Trace trace;  ///< its outputs are the contents; without a backward pass and without effects
  std::vector<KeptMemory> memory;  ///< per output
};

/// The result of looking for them.
struct KeptTensors {
  size_t count = 0;                ///< all of them
  std::vector<KeptMemory> memory;  ///< of those that are no views of memory outside
  std::vector<at::Tensor> fakes;
};

/// Histories end at the capture's arguments; where a kept tensor has one, it goes on to the real ones.
using InputHistories = std::vector<const torch::autograd::Node*>;

/// To be called when nothing of ours holds tensors of the capture but `tangents`. Makes those real that are
/// views of memory outside.
KeptTensors find_kept(Recorder& recorder, const std::vector<at::Tensor>& inputs,
                      const InputHistories& histories, const std::vector<at::Tensor>& tangents);

/// Lets `options.fill_kept` fill the memory. `trace`: of the same capture, complete up to its forward pass.
/// False: some of it could not be filled, since it follows from inputs without contents (stand_in.h), or only
/// a backward pass would compute it. Throws what running the ops throws.
bool fill_kept(const KeptTensors& kept, const Trace& trace, const std::vector<at::Tensor>& inputs,
               const CaptureOptions& options);

/// Gives memory number `k` its contents.
void fill(const Kept& kept, size_t k, const at::Tensor& contents);

/// What a function has kept and what it returned become one where they were one in the capture: the same
/// memory, and the very same tensor where it is no view and has no history.
void share(const std::vector<KeptOutput>& kept_outputs, std::vector<at::Tensor>& outputs);

}  // namespace antegrad::capture
