#include "capture/stretch_settings.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DefaultDtype.h>

#include <cstring>

#include "aten/generators.h"

namespace antegrad::capture {

StretchSettings::StretchSettings(c10::ScalarType default_dtype, const at::Tensor& undrawn,
                                 const at::Tensor& drawn, bool reseeded)
    : default_dtype_(c10::get_default_dtype()) {
  const auto dtype = c10::scalarTypeToTypeMeta(default_dtype);
  if (dtype != default_dtype_) c10::set_default_dtype(dtype);
  if (!undrawn.defined()) return;
  auto generator = aten::default_generator();
  const std::scoped_lock lock(generator.mutex());
  const auto now = generator.get_state();
  if (reseeded) seeded_ = now;
  const bool others_drew = std::memcmp(now.const_data_ptr(), drawn.const_data_ptr(), now.nbytes()) != 0;
  if (reseeded || !others_drew) generator.set_state(undrawn);
}

StretchSettings::~StretchSettings() {
  if (c10::get_default_dtype() != default_dtype_) c10::set_default_dtype(default_dtype_);
  if (!seeded_.defined()) return;
  auto generator = aten::default_generator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(seeded_);
}

}  // namespace antegrad::capture
