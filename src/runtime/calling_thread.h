#pragma once

namespace antegrad::runtime {

/// From now on, backward passes that begin at a compiled function run on the thread that calls backward(),
/// also with tensors on CUDA devices: as with torch.autograd.set_multithreading_enabled(False). LibTorch's
/// engine would hand such a pass to a thread of the device and wait for it, which takes as long as some ten
/// launches. Streams and devices are the engine's in either case. Can be called again at any time.
void run_passes_on_calling_thread();

}  // namespace antegrad::runtime
