#pragma once
#include "aten/data_access.h"

namespace antegrad::capture {

class Recorder;

/// Refuses what a capture could not repeat: the function takes a pointer to the memory of a tensor that it
/// has not made. A tape goes on with a break instead.
class HostReads final : public aten::AccessListener {
 public:
  explicit HostReads(Recorder& recorder) : recorder_(recorder), listening_(this) {}
  void on_access(const c10::TensorImpl& tensor) override;

 private:
  Recorder& recorder_;
  aten::Listening listening_;
};

}  // namespace antegrad::capture
