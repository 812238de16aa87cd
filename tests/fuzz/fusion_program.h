#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "fuzz/rng.h"

/// Random programs of what a backend fuses: pointwise ops, views, reductions, gathers, scatters. Unlike
/// program.h's they write to nothing and have no aliases, but come in all dtypes, layouts and sizes, and with
/// a bound on the rounding error of each result.
namespace antegrad::fuzz {

struct FusionOp;  // fusion_op.h
using Tensors = std::vector<at::Tensor>;

/// A variable: an input, or op(args, ints, numbers).
struct FusionStep {
  at::Tensor input;
  const FusionOp* op = nullptr;  ///< null: an input
  std::vector<int> args;         ///< earlier variables
  std::vector<int64_t> ints;     ///< what they and `numbers` mean is the op's business
  std::vector<double> numbers;
};

struct FusionProgram {
  uint64_t seed = 0;
  std::vector<FusionStep> steps;
  std::vector<int> outputs;
};

/// A variable as eager computes it, as double precision does, and as double precision does when every rounded
/// result is a little wrong: how far they are apart says how much rounding may show.
struct Computed {
  at::Tensor eager, wide, shaken;
  double lost = 0;    ///< how far small errors of the operands move the result
  bool exact = true;  ///< no rounding so far: what jumps, such as floor(), takes only such operands
};

/// What an input is; others are computed. `shaker` gives the errors.
Computed compute(const FusionStep& step, const std::vector<Computed>& variables, Rng& shaker);
std::vector<Computed> compute_all(const FusionProgram& program);

/// Calls ATen only, so it can be captured. Takes the inputs in order.
Tensors run(const FusionProgram& program, const Tensors& inputs);
Tensors inputs_of(const FusionProgram& program);

/// How much the largest difference between a right result and `wide` may be.
double error_bound(const Computed& value);

/// A program whose results are finite (NaN and infinite where its inputs are) and well-conditioned.
/// `hard`: also norms of numbers far from zero, and numbers that short types cannot hold.
FusionProgram generate_fusion(uint64_t seed, bool hard = false);

/// The same without what no output needs.
FusionProgram without_dead_steps(const FusionProgram& program);

std::string to_string(const FusionProgram& program);

}  // namespace antegrad::fuzz
