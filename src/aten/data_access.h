#pragma once
#include <c10/core/TensorImpl.h>

namespace antegrad::aten {

/// Is told when the user's code asks a tensor for a pointer to its memory (data_ptr(), accessor(), …), before
/// it gets one.
class AccessListener {
 public:
  /// May throw: the exception comes out of data_ptr().
  virtual void on_access(const c10::TensorImpl& tensor) = 0;

 protected:
  ~AccessListener() = default;
};

/// While it lives, `listener` is told of the accesses by this thread; null: nobody is.
class Listening {
 public:
  explicit Listening(AccessListener* listener);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  AccessListener* outer_;
};

/// For an override of TensorImpl::has_storage(), which has been called from `caller`: tells the listener if
/// that is part of an access by the user's code.
void tell_of_access(const c10::TensorImpl& tensor, void* caller);

}  // namespace antegrad::aten
