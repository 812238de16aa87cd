#include "cli/errors.h"

#include <fmt/format.h>

#include <cstdio>

#include "antegrad/error.h"

namespace antegrad::cli {

UsageError::UsageError(std::string_view where, std::string_view fact, std::string_view way_out)
    : std::runtime_error(fmt::format("[{}] {}. {}.", where, fact, way_out)) {}

void print_error(std::string_view text) { fmt::print(stderr, "antegrad: {}\n", text); }

int report_exception(std::string_view where) {
  try {
    throw;
  } catch (const UsageError& error) {
    print_error(error.what());
    return kUsage;
  } catch (const Error& error) {
    print_error(error.what());
    return error.code() == ErrorCode::UnknownPass ? kUsage : kFailed;
  } catch (const std::exception& error) {
    // Exceptions from elsewhere do not name their origin.
    const std::string_view text = error.what();
    print_error(text.starts_with('[') ? std::string(text) : fmt::format("[{}] {}", where, text));
  }
  return kFailed;
}

}  // namespace antegrad::cli
