// Means, variances and standard deviations, in two passes: first the mean, then the squared deviations from
// it.
#include <algorithm>
#include <cmath>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// The number of elements minus the correction, at least 0, as an argument of div.
ir::Arg divisor(Builder& b, const ir::Dim& count, double correction) {
  if (count.is_constant()) return std::max(static_cast<double>(count.constant()) - correction, 0.0);
  if (correction != std::floor(correction)) throw NotHandled();
  const auto rest = count - static_cast<int64_t>(correction);
  return b.least(rest) >= 0 ? rest : max(rest, ir::Dim(0));
}

/// Returns NaN where `test` is NaN, elsewhere x.
Value unless_nan(Builder& b, Value test, Value x) { return b.where(b.compare("eq", test, test), x, test); }

/// Computed in f64 whatever the dtype, like LibTorch, so that no square underflows or overflows.
template <bool kRoot, bool kMean>
void variance(Builder& b, const Call& call) {
  wide(call.output_type(0).dtype);  // throws NotHandled for types that are not real
  const auto x = b.to(call.tensor(0), ir::DType::F64);
  if (b.rank(x) == 0) throw NotHandled();
  auto dims = call.dims_or_all(1, b.rank(x));
  const bool keepdim = call.keyword("keepdim") == ir::Arg(true);
  std::ranges::sort(dims);
  const auto mean = b.mean(x, dims, keepdim);
  const auto centered = b.sub(x, keepdim ? mean : b.unsqueeze(mean, dims));
  const auto squares = b.sum(b.square(centered), dims, keepdim);
  const auto variance = b.div(squares, divisor(b, b.count(x, dims), call.keyword_number("correction", 1)));
  b.define(call.output(0), kRoot ? b.sqrt(variance) : variance);
  if (!kMean) return;
  // LibTorch's mean comes from the deviations: next to others, an infinite number makes it NaN.
  b.define(call.output(1), b.count(x, dims).is(1) ? mean : unless_nan(b, squares, mean));
}

constexpr DecompositionRow kMomentsRows[] = {
    {"aten.var.correction", variance<false, false>},
    {"aten.std.correction", variance<true, false>},
    {"aten.var_mean.correction", variance<false, true>},
    {"aten.std_mean.correction", variance<true, true>},
};

}  // namespace

Moments moments_of(Builder& b, Value x, const Dims& dims, bool keepdim) {
  const auto count = b.count(x, dims);
  const auto first = b.mean(x, dims, keepdim);
  const auto centered = b.sub(x, keepdim ? first : b.unsqueeze(first, dims));
  const auto squares = b.square(centered);
  if (b.type(x).dtype == ir::DType::F64) {
    const auto variance = b.mean(squares, dims, keepdim);
    return {unless_nan(b, variance, first), variance};
  }
  const auto average = [&](Value terms) {
    return b.div(b.to(b.sum(terms, dims, keepdim), ir::DType::F64), count);
  };
  // The first mean has the rounding error of a long sum; the mean deviation from it corrects that.
  const auto shift = average(centered);
  const auto mean = b.to(b.add(b.to(first, ir::DType::F64), shift), b.type(x).dtype);
  return {mean, b.clamp_min(b.sub(average(squares), b.square(shift)), 0)};
}

std::span<const DecompositionRow> moment_decompositions() { return kMomentsRows; }

}  // namespace antegrad::passes
