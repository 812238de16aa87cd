#pragma once
#include <antegrad/antegrad.h>

#include <optional>

#include "fuzz/dynamic_program.h"

namespace antegrad::fuzz {

/// The outcome of a program's calls, compiled and eager.
struct DynamicResult {
  std::optional<std::string> difference;  ///< with the call in which it was found
  std::string refusal;                    ///< why the compiler refused the program; "" if it did not
  int eager_threw = 0;                    ///< calls that are impossible at their sizes
  uint64_t usual_captures = 0;            ///< captures for sizes of at least 2
  Report report;
};

/// Calls the program at all its sizes. Values, strides, gradients and writes to inputs must be eager's; where
/// eager throws, the compiled function must throw.
DynamicResult check_dynamic(const DynamicProgram& program, const Options& options);

/// Returns a smaller program that still differs, after at most `most` checks.
DynamicProgram shrink_dynamic(const DynamicProgram& program, const Options& options, int most);

}  // namespace antegrad::fuzz
