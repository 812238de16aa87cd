#pragma once
#include <string>

namespace antegrad::cli {

struct CommandOutput {
  std::string text;   ///< for standard output
  int exit_code = 0;  ///< 1 when the findings, or what was left undone, count as a failure
};

}  // namespace antegrad::cli
