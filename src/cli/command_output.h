#pragma once
#include <string>

namespace antegrad::cli {

struct CommandOutput {
  std::string text;   ///< for standard output
  int exit_code = 0;  ///< 1: done, and what was found or left undone counts as failure
};

}  // namespace antegrad::cli
