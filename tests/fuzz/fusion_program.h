#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/rng.h"

/// Random programs of ops that a backend fuses: pointwise ops, views, reductions, gathers, scatters. Unlike
/// those of program.h they neither write nor alias, but they cover all dtypes, layouts and sizes, and have a
/// bound on the rounding error of each result.
namespace antegrad::fuzz {

struct FusionOp;  // fusion_op.h
using Tensors = std::vector<at::Tensor>;

/// A variable: either an input or op(args, ints, numbers).
struct FusionStep {
  at::Tensor input;
  const FusionOp* op = nullptr;  ///< null for an input
  std::vector<int> args;         ///< earlier variables
  std::vector<int64_t> ints;     ///< each op defines their meaning and that of `numbers`
  std::vector<double> numbers;
};

struct FusionProgram {
  uint64_t seed = 0;
  std::vector<FusionStep> steps;
  std::vector<int> outputs;
};

/// A variable in three forms: from eager, in double precision, and in double precision with a small error
/// added to every rounded result. Their distances show how much rounding may matter.
struct Computed {
  at::Tensor eager, wide, shaken;
  double lost = 0;    ///< how far small errors of the operands change the result
  bool exact = true;  ///< nothing was rounded; discontinuous ops such as floor() need such operands
};

/// Takes inputs as they are and computes other variables. `shaker` chooses the errors.
Computed compute(const FusionStep& step, const std::vector<Computed>& variables, Rng& shaker);
std::vector<Computed> compute_all(const FusionProgram& program);

/// Runs the program on its inputs, in order. Calls ATen only, so that it can be captured.
Tensors run(const FusionProgram& program, const Tensors& inputs);
Tensors inputs_of(const FusionProgram& program);

/// Returns the largest acceptable difference from `wide`.
double error_bound(const Computed& value);

/// Generates a well-conditioned program whose results are finite, except where its inputs are not. If `hard`,
/// it may also contain norms of numbers far from zero, and numbers that short floating-point types cannot
/// represent.
FusionProgram generate_fusion(uint64_t seed, bool hard = false);

/// Returns the program without steps that no output needs.
FusionProgram without_dead_steps(const FusionProgram& program);

std::string to_string(const FusionProgram& program);

}  // namespace antegrad::fuzz
