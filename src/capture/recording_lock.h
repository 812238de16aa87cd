#pragma once
#include <mutex>

namespace antegrad::capture {

/// While it lives, no other thread records in the capture that this thread works for: a backward pass over
/// tensors on several devices runs on one thread of the engine for each of them. May be nested.
class RecordingLock {
 public:
  RecordingLock();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

}  // namespace antegrad::capture
