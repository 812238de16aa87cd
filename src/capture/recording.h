#pragma once
#include <functional>
#include <memory>

#include "capture/recorder.h"

namespace antegrad::capture {

/// While it lives, this thread's ops go to the recorder, and whatever in LibTorch would keep or inspect
/// tensors of a capture is off: the autocast cache, TorchScript's profiling, hooks for saved tensors.
class Recording {
 public:
  explicit Recording(Recorder& recorder);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Runs `code`. Errors that LibTorch threw on antegrad's behalf come out as Error, all others unchanged.
  void run(const std::function<void()>& code);

 private:
  struct Switches;
  Recorder& recorder_;
  std::unique_ptr<Switches> switches_;
};

}  // namespace antegrad::capture
