// Variance and standard deviation, in two passes: the mean first, then the squared distances from it.
#include <algorithm>
#include <cmath>

#include "passes/decompositions.h"

namespace antegrad::passes {
namespace {

/// How many elements minus the correction, at least 0, as an argument of div.
ir::Arg divisor(Builder& b, const ir::Dim& count, double correction) {
  if (count.is_constant()) return std::max(static_cast<double>(count.constant()) - correction, 0.0);
  if (correction != std::floor(correction)) throw Unusual();
  const auto rest = count - static_cast<int64_t>(correction);
  return b.least(rest) >= 0 ? rest : max(rest, ir::Dim(0));
}

struct Moments {
  Value mean, variance;
};

Moments moments(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  if (b.rank(x) == 0) throw Unusual();
  auto dims = call.dims_or_all(1, b.rank(x));
  const bool keepdim = call.keyword("keepdim") == ir::Arg(true);
  std::ranges::sort(dims);
  const auto mean = b.mean(x, dims, keepdim);
  const auto centered = b.sub(x, keepdim ? mean : b.unsqueeze(mean, dims));
  const auto squares = b.sum(b.square(centered), dims, keepdim);
  return {mean, b.div(squares, divisor(b, b.count(x, dims), call.keyword_number("correction", 1)))};
}

template <bool kRoot, bool kMean>
void variance(Builder& b, const Call& call) {
  const auto [mean, variance] = moments(b, call);
  b.define(call.output(0), kRoot ? b.sqrt(variance) : variance);
  if (kMean) b.define(call.output(1), mean);
}

constexpr DecompositionRow kRows[] = {
    {"aten.var.correction", variance<false, false>},
    {"aten.std.correction", variance<true, false>},
    {"aten.var_mean.correction", variance<false, true>},
    {"aten.std_mean.correction", variance<true, true>},
};

}  // namespace

std::span<const DecompositionRow> moment_decompositions() { return kRows; }

}  // namespace antegrad::passes
