#pragma once
#include <ATen/core/Tensor.h>

namespace antegrad::capture {

/// While it lives, default dtype and random generator are what they were when a stretch was recorded
/// (tape.h).
class StretchSettings {
 public:
  /// `undrawn`: the state of the default generator then, if the stretch draws from it; `drawn`: the state
  /// after one number. `reseeded`: the function has set another one since, which comes back at the end.
  StretchSettings(c10::ScalarType default_dtype, const at::Tensor& undrawn, const at::Tensor& drawn,
                  bool reseeded);
  ~StretchSettings();
  StretchSettings(const StretchSettings&) = delete;
  StretchSettings& operator=(const StretchSettings&) = delete;

 private:
  const caffe2::TypeMeta default_dtype_;
  at::Tensor seeded_;
};

}  // namespace antegrad::capture
