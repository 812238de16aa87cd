#pragma once
#include <antegrad/antegrad.h>

#include <optional>

#include "fuzz/dynamic_program.h"

namespace antegrad::fuzz {

/// What came of a program's calls, compiled and not.
struct DynamicResult {
  std::optional<std::string> difference;  ///< with the call it was seen in
  std::string refusal;                    ///< why the compiler refused to compile it; "": it did not
  int eager_threw = 0;                    ///< calls that are impossible at their sizes
  uint64_t usual_captures = 0;            ///< for sizes of at least 2
  Report report;
};

/// Calls the program at all its sizes. Values, strides, gradients, and what is written to inputs must be
/// eager's; where eager throws, the compiled function throws.
DynamicResult check_dynamic(const DynamicProgram& program, const Options& options);

/// A smaller program that still differs, in at most `most` checks.
DynamicProgram shrink_dynamic(const DynamicProgram& program, const Options& options, int most);

}  // namespace antegrad::fuzz
