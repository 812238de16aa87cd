#pragma once
#include <optional>
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "fuzz/fusion_program.h"

/// Compares compiled programs of fusion_program.h with eager LibTorch.
namespace antegrad::fuzz {

struct FusionFailure {
  FusionProgram program;
  std::string difference;
};

/// Compiles the programs as one function, calls it twice, and compares dtypes, sizes, strides and values.
std::vector<FusionFailure> check_fusions(const std::vector<FusionProgram>& programs, const Options& options);

/// What is wrong with one program; nothing when all is right.
std::optional<std::string> check_fusion(const FusionProgram& program, const Options& options);

/// A smaller program that is wrong too: fewer outputs, and computed variables made inputs.
FusionProgram shrink_fusion(const FusionProgram& program, const Options& options);

}  // namespace antegrad::fuzz
