#pragma once
#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace antegrad::aten {

/// The dispatch keys whose work the captured graph already contains: autograd, autocast and recording itself.
inline c10::DispatchKeySet keys_above_kernels() {
  return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
         c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                              c10::DispatchKey::PythonDispatcher});
}

/// While it lives, ops of this thread go straight to their kernels, unrecorded.
class BelowRecording {
 public:
  BelowRecording() : guard_(keys_above_kernels()) {}

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

}  // namespace antegrad::aten
