#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace antegrad::cli {

// Exit codes that programs may rely on.
constexpr int kDone = 0;    ///< success
constexpr int kFailed = 1;  ///< failure, or a check that found problems
constexpr int kUsage = 2;   ///< wrong use of the command

/// The command was used wrongly: exit code 2.
class UsageError : public std::runtime_error {
 public:
  UsageError(std::string_view where, std::string_view fact, std::string_view way_out);
};

/// Prints "antegrad: [stage:op] fact. Way out." to standard error.
void print_error(std::string_view text);
/// Reports the exception caught by main() and returns the exit code. Must be called in a catch block.
int report_exception(std::string_view where);

}  // namespace antegrad::cli
