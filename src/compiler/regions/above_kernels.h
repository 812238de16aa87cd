#pragma once
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "aten/below_recording.h"
#include "runtime/guards.h"
#include "runtime/rng_state.h"

namespace antegrad::compiler {

/// While it lives, ops of this thread go through autograd, and not through autocast: the bodies contain its
/// casts. The opposite of aten::BelowRecording. Where a graph draws the numbers of an earlier run again,
/// bodies do so from the generator, and not from the state of the graph.
class AboveKernels {
 public:
  AboveKernels() : keys_(c10::impl::LocalDispatchKeySet(keys_now())), ambient_(ambient_now()) {}

 private:
  static c10::impl::LocalDispatchKeySet keys_now() {
    auto keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = (keys.excluded_ - aten::keys_above_kernels()) | c10::default_excluded_set;
    if (!c10::InferenceMode::is_enabled()) keys.included_ = keys.included_ | c10::default_included_set;
    return keys;
  }
  static runtime::Ambient ambient_now() {
    auto ambient = runtime::Ambient::now();
    ambient.autocast_cpu = ambient.autocast_cuda = false;
    return ambient;
  }
  c10::impl::ForceDispatchKeyGuard keys_;
  runtime::AmbientGuard ambient_;
  runtime::RngReplay no_replay_{{}, {}};
};

}  // namespace antegrad::compiler
