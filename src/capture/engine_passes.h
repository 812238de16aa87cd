#pragma once
#include <c10/core/Device.h>

/// Passes of autograd's engine that compute nothing.
namespace antegrad::capture {

/// Has LibTorch make the static objects of its engine, in the first call. Must be called before user code runs
/// in a capture: exit() in another thread destroys static objects that are younger than the last call of
/// process_end::outlive_statics() without waiting for captures.
void open_engine();

/// The same for those that a pass makes, which open_engine() leaves out if there is an accelerator: a pass
/// starts it.
void run_first_pass();

/// Runs an empty backward pass. After a backward pass that threw, the engine keeps its pending work, tensors
/// included, until this thread's next one.
void clear_engine();

/// Backward passes over tensors on a device that is not the CPU run on a thread of the engine, which says
/// that a pass is done before it drops the results. Waits until that thread has dropped those of passes that
/// are done, by an empty pass that it runs next.
void wait_for_engine(c10::Device device);

}  // namespace antegrad::capture
