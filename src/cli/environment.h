#pragma once
#include <cstdlib>
#include <string>

namespace antegrad::cli {

/// Returns the value of an environment variable; "" when it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace antegrad::cli
