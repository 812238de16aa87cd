#pragma once
#include <string>
#include <vector>

#include "fuzz/check.h"

namespace antegrad::fuzz {

/// A compiler with one defect, to measure the fuzzer with.
struct WrongCompiler {
  std::string name;
  std::string symptom;  ///< the part of the difference that only this defect causes
  CompileWithCaptured compile;
};

std::vector<WrongCompiler> wrong_compilers();

}  // namespace antegrad::fuzz
