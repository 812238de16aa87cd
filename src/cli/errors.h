#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace antegrad::cli {

// What programs may rely on.
constexpr int kDone = 0;    ///< it worked
constexpr int kFailed = 1;  ///< it did not, or what was looked for was found wanting
constexpr int kUsage = 2;   ///< the command was not used as it must be

/// The command was not used as it must be: exit code 2.
class UsageError : public std::runtime_error {
 public:
  UsageError(std::string_view where, std::string_view fact, std::string_view way_out);
};

/// "antegrad: [stage:op] fact. Way out." on standard error.
void print_error(std::string_view text);
/// Of whatever main() catches; gives the exit code. Must be called in a catch block.
int report_exception(std::string_view where);

}  // namespace antegrad::cli
