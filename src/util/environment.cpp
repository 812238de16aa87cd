#include "util/environment.h"

#include <fmt/format.h>

#include <cstdlib>

#include "antegrad/error.h"

namespace antegrad::inline util::environment {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void read_flag(const char* name, bool& field) {
  const char* value = std::getenv(name);
  if (value == nullptr) return;
  const std::string_view text(value);
  if (text == "1")
    field = true;
  else if (text == "0")
    field = false;
  else
    reject(name, text, "0 or 1");
}

void reject(const char* name, std::string_view value, const char* wanted) {
  throw Error(ErrorCode::InvalidArgument, "options", fmt::format("{}={} is not {}", name, value, wanted),
              "Correct the environment variable or unset it");
}

}  // namespace antegrad::inline util::environment
