#pragma once
#include <span>

#include "passes/rewrite/builder.h"

namespace antegrad::passes {

/// How one op is made of others: emits nodes that define all outputs of the call, or throws Unusual.
using Decomposition = void (*)(Builder& b, const Call& call);

/// What LibTorch's losses take as `reduction`.
enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

struct DecompositionRow {
  std::string_view op;
  Decomposition build;
};

// By theme, each in its file.
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

/// The mean over some dimensions, in the type of x, and the mean of the squared distances from it, in f64.
/// A mean that is large compared with the distances costs them no digits.
struct Moments {
  Value mean, variance;
};
Moments moments_of(Builder& b, Value x, const Dims& dims, bool keepdim);

/// self + value * left * right, or self + value * left / right.
Value add_product_of(Builder& b, Value self, Value left, Value right, double value, bool divides);

/// The p-norm over some dimensions.
Value norm_of(Builder& b, Value x, double p, const Dims& dims, bool keepdim);

/// For ops on lists of tensors, which are too many for rows. Null: the op is none of them.
Decomposition foreach_decomposition(std::string_view op);

}  // namespace antegrad::passes
