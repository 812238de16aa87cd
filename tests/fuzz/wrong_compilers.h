#pragma once
#include <string>
#include <vector>

#include "fuzz/check.h"

namespace antegrad::fuzz {

/// A compiler with one defect, to measure the harness.
struct WrongCompiler {
  std::string name;
  std::string symptom;  ///< part of the difference that names the defect and nothing else
  CompileWithCaptured compile;
};

std::vector<WrongCompiler> wrong_compilers();

}  // namespace antegrad::fuzz
