#pragma once
#include <optional>
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "fuzz/fusion_program.h"

/// Compares compiled programs of fusion_program.h with eager LibTorch.
namespace antegrad::fuzz {

struct FusionWay {
  Options options;
  bool hard = false;       ///< with hard numbers, see generate_fusion()
  bool gradients = false;  ///< also compares gradients of some outputs with respect to some inputs
};

struct FusionFailure {
  FusionProgram program;
  std::string difference;
};

/// Compiles the programs as one function, calls it twice, and compares dtypes, sizes, strides and values, and
/// gradients where requested.
std::vector<FusionFailure> check_fusions(const std::vector<FusionProgram>& programs, const FusionWay& way);

/// Returns what is wrong with one program, or nothing.
std::optional<std::string> check_fusion(const FusionProgram& program, const FusionWay& way);

/// Returns a smaller program that is also wrong: with fewer outputs, and computed variables turned into
/// inputs.
FusionProgram shrink_fusion(const FusionProgram& program, const FusionWay& way);

}  // namespace antegrad::fuzz
