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
  bool hard = false;       ///< programs are, see generate_fusion()
  bool gradients = false;  ///< of some outputs with respect to some inputs, too
};

struct FusionFailure {
  FusionProgram program;
  std::string difference;
};

/// Compiles the programs as one function, calls it twice, and compares dtypes, sizes, strides and values, and
/// gradients where they are asked for.
std::vector<FusionFailure> check_fusions(const std::vector<FusionProgram>& programs, const FusionWay& way);

/// What is wrong with one program; nothing when all is right.
std::optional<std::string> check_fusion(const FusionProgram& program, const FusionWay& way);

/// A smaller program that is wrong too: fewer outputs, and computed variables made inputs.
FusionProgram shrink_fusion(const FusionProgram& program, const FusionWay& way);

}  // namespace antegrad::fuzz
