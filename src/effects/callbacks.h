#pragma once
#include <string>

#include "antegrad/effects.h"

namespace antegrad::effects {

/// Returns the callback of that name. Throws Error(InvalidArgument) when this process has none.
const detail::Callback& find_callback(const std::string& name);

}  // namespace antegrad::effects
