#pragma once
#include <string>

#include "antegrad/options.h"

namespace antegrad::c {

/// Sets a field of Options by name. Throws Error(InvalidArgument) for an unknown name or an invalid value.
void set_option(Options& options, const std::string& name, const std::string& value);

}  // namespace antegrad::c
