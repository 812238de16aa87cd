#pragma once

namespace antegrad::capture {

class Recorder;

/// The recorder of the innermost capture on this thread (or of the one this engine thread works for); null:
/// none.
Recorder* active_recorder();

/// While it lives, every op below autograd on this thread goes to the recorder.
class RecordingMode {
 public:
  explicit RecordingMode(Recorder& recorder);
  ~RecordingMode();
  RecordingMode(const RecordingMode&) = delete;
  RecordingMode& operator=(const RecordingMode&) = delete;
};

}  // namespace antegrad::capture
