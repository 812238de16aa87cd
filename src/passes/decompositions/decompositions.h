#pragma once
#include <span>

#include "passes/rewrite/builder.h"

namespace antegrad::passes {

/// Emits nodes that define all outputs of the call in terms of simpler ops, or throws NotHandled.
using Decomposition = void (*)(Builder& b, const Call& call);

/// Values of the `reduction` argument of LibTorch's losses.
enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

struct DecompositionRow {
  std::string_view op;
  Decomposition build;
};

// One file per theme.
std::span<const DecompositionRow> activation_decompositions();
std::span<const DecompositionRow> pointwise_decompositions();
std::span<const DecompositionRow> loss_decompositions();
std::span<const DecompositionRow> nll_loss_decompositions();
std::span<const DecompositionRow> layer_norm_decompositions();
std::span<const DecompositionRow> batch_norm_decompositions();
std::span<const DecompositionRow> softmax_decompositions();
std::span<const DecompositionRow> reduction_decompositions();
std::span<const DecompositionRow> moment_decompositions();
std::span<const DecompositionRow> indexing_decompositions();
std::span<const DecompositionRow> resampling_decompositions();

/// The mean over some dimensions, in the type of x, and the mean of the squared deviations from it, in f64.
/// The deviations lose no digits even if the mean is large compared with them. Infinite numbers make both
/// NaN.
struct Moments {
  Value mean, variance;
};
Moments moments_of(Builder& b, Value x, const Dims& dims, bool keepdim);

/// self + value * left * right, or self + value * left / right.
Value add_product_of(Builder& b, Value self, Value left, Value right, double value, bool divides);

/// The p-norm over some dimensions.
Value norm_of(Builder& b, Value x, double p, const Dims& dims, bool keepdim);

/// Returns the rule for ops on lists of tensors, of which there are too many for rows; null for other ops.
Decomposition foreach_decomposition(std::string_view op);

}  // namespace antegrad::passes
