#pragma once
#include <string>

#include "antegrad/options.h"

namespace antegrad::c {

/// Sets a field of Options by its name. Throws Error(InvalidArgument) for a name or a value that is none.
void set_option(Options& options, const std::string& name, const std::string& value);

}  // namespace antegrad::c
