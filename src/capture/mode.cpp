#include "capture/mode.h"

#include "aten/data_access.h"
#include "aten/dispatch_mode.h"
#include "aten/op_schema.h"
#include "capture/place.h"
#include "capture/recorder.h"
#include "capture/recording_lock.h"
#include "capture/tape.h"
#include "util/call_site.h"

namespace antegrad::capture {
namespace {

/// Hands ops to a recorder, or to its tape.
class RecorderMode final : public aten::DispatchMode {
 public:
  explicit RecorderMode(Recorder& recorder) : recorder_(recorder) {}

  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    // In inference mode composite ops arrive whole: decompose them with recording still on.
    if (aten::schema_of(op).is_composite) {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, stack);
      return;
    }
    const aten::Listening to_nobody(nullptr);  // from here on, the code is ours and LibTorch's
    if (recorder_.tape != nullptr) return recorder_.tape->dispatch(op, &stack);
    try {
      recorder_.record(op, &stack);
    } catch (const Error& error) {
      if (recorder_.threw(error)) throw;  // an op that this one is made of
      recorder_.unfollow();
      auto placed = with_place(error, recorder_.graph(), call_stack());
      recorder_.last_error = std::make_exception_ptr(placed);
      throw placed;
    }
  }

  c10::intrusive_ptr<c10::TensorImpl> detach(const at::Tensor& tensor) override {
    const aten::Listening to_nobody(nullptr);
    if (recorder_.tape != nullptr) return recorder_.tape->alias(tensor);
    return recorder_.add_alias(tensor);
  }

  Recorder& recorder() const { return recorder_; }
  std::recursive_mutex& recording() { return recording_; }

 private:
  Recorder& recorder_;
  std::recursive_mutex recording_;
};

RecorderMode* active() { return static_cast<RecorderMode*>(aten::active_mode()); }  // there are no others

}  // namespace

Recorder* active_recorder() {
  const auto* mode = active();
  return mode != nullptr ? &mode->recorder() : nullptr;
}

RecordingLock::RecordingLock() {
  if (auto* mode = active(); mode != nullptr) lock_ = std::unique_lock(mode->recording());
}

RecordingMode::RecordingMode(Recorder& recorder) {
  aten::push_mode(std::make_unique<RecorderMode>(recorder));
}
RecordingMode::~RecordingMode() { aten::pop_mode(); }

RecordingPause::RecordingPause() : mode_(aten::pop_mode()) {}
RecordingPause::~RecordingPause() { aten::push_again(std::move(mode_)); }

}  // namespace antegrad::capture
