#pragma once
#include <memory>

namespace antegrad::capture {

class Recorder;

/// Returns the recorder of the innermost capture on this thread (or of the capture that this engine thread
/// works for). Null when there is none.
Recorder* active_recorder();

/// While it lives, every op that this thread calls below autograd goes to the recorder.
class RecordingMode {
 public:
  explicit RecordingMode(Recorder& recorder);
  ~RecordingMode();
  RecordingMode(const RecordingMode&) = delete;
  RecordingMode& operator=(const RecordingMode&) = delete;
};

/// While it lives, the innermost RecordingMode of this thread is off.
class RecordingPause {
 public:
  RecordingPause();
  ~RecordingPause();
  RecordingPause(const RecordingPause&) = delete;
  RecordingPause& operator=(const RecordingPause&) = delete;

 private:
  std::shared_ptr<void> mode_;
};

}  // namespace antegrad::capture
