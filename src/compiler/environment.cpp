#include "compiler/environment.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "antegrad/error.h"

namespace antegrad::compiler {
namespace {

[[noreturn]] void bad_value(const char* name, std::string_view value, const char* wanted) {
  throw Error(ErrorCode::InvalidArgument, "options", fmt::format("{}={} is not {}", name, value, wanted),
              "Correct the environment variable or unset it");
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
    bad_value(name, text, "0 or 1");
}

}  // namespace

Options with_environment(Options options) {
  if (const char* value = std::getenv("ANTEGRAD_UNSUPPORTED")) {
    const std::string_view text(value);
    if (text == "error")
      options.unsupported = Unsupported::Error;
    else if (text == "eager")
      options.unsupported = Unsupported::Eager;
    else
      bad_value("ANTEGRAD_UNSUPPORTED", text, "error or eager");
  }
  if (const char* value = std::getenv("ANTEGRAD_MAX_VERSIONS")) {
    char* end = nullptr;
    const long number = std::strtol(value, &end, 10);
    if (*value == '\0' || *end != '\0' || number < 1 || number > 1'000'000)
      bad_value("ANTEGRAD_MAX_VERSIONS", value, "a number from 1 to 1000000");
    options.max_versions = static_cast<int>(number);
  }
  read_flag("ANTEGRAD_CHECK_RECAPTURE", options.check_recapture);
  read_flag("ANTEGRAD_VERIFY", options.verify);
  if (const char* value = std::getenv("ANTEGRAD_DISABLE_PASSES")) {
    std::istringstream list(value);
    for (std::string name; std::getline(list, name, ',');)
      if (!name.empty()) options.disabled_passes.push_back(name);
  }
  return options;
}

}  // namespace antegrad::compiler
