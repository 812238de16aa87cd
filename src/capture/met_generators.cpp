#include "capture/met_generators.h"

#include <ATen/ops/equal.h>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/generators.h"

namespace antegrad::capture {

at::Tensor MetGenerators::meet(const at::Generator& generator) {
  auto stand_in = aten::stand_in_of(generator);
  for (const auto& met : all_)
    if (met.stand_in == stand_in.unsafeGetTensorImpl()) return stand_in;
  all_.push_back({generator, stand_in.unsafeGetTensorImpl(), aten::state_of(generator)});
  return stand_in;
}

at::Tensor MetGenerators::state_of(const at::Tensor& stand_in) const {
  for (const auto& met : all_)
    if (met.stand_in == stand_in.unsafeGetTensorImpl()) return met.state;
  return {};
}

void MetGenerators::check_unchanged() const {
  const aten::BelowRecording below;
  bool unchanged = true;
  for (const auto& met : all_) {
    if (at::equal(aten::state_of(met.generator), met.state)) continue;
    unchanged = false;
    aten::set_state_of(met.generator, met.state);
  }
  if (!unchanged) throw_changes_generator();
}

void MetGenerators::let_go() {
  for (auto& met : all_) met.generator = {};
  aten::forget_dead_generators();
}

void throw_changes_generator() {
  throw Error(ErrorCode::UnsupportedOp, "capture:generator",
              "the function seeds a generator, or draws from it on the host",
              "Do that before the call, or make the generator inside the function");
}

}  // namespace antegrad::capture
