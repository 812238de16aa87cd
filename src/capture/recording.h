#pragma once
#include <functional>
#include <memory>

#include "capture/recorder.h"

namespace antegrad::capture {

/// While it lives this thread's ops go to the recorder, and everything in LibTorch that would keep or look
/// into tensors of a capture is off: caches of autocast, TorchScript's profiling, hooks for saved tensors.
class Recording {
 public:
  explicit Recording(Recorder& recorder);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Calls it. Errors that LibTorch threw on our behalf come out as Error; all others untouched.
  void run(const std::function<void()>& code);

 private:
  struct Switches;
  Recorder& recorder_;
  std::unique_ptr<Switches> switches_;
};

}  // namespace antegrad::capture
