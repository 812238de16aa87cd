// Softmax and related ops, computed relative to the largest element to avoid overflow. Like LibTorch, rows
// that consist of -inf give NaN.
#include <limits>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Rows {
  Value x;
  Dims dims;
};

/// The argument in the dtype that the call computes in, and the dimension (argument `dim_at`) of the softmax.
Rows rows(Builder& b, const Call& call, size_t tensor, size_t dim_at) {
  const auto x = b.to(call.tensor(tensor), wide(call.output_type(0).dtype));
  return {x, {call.wrapped(call.integer(dim_at), b.rank(x))}};
}

Value largest(Builder& b, const Rows& rows) { return b.reduce("aten.amax", rows.x, rows.dims, true); }

Value softmax_of(Builder& b, const Rows& rows, Value largest) {
  const auto exp = b.exp(b.sub(rows.x, largest));
  return b.div(exp, b.sum(exp, rows.dims, true));
}

void softmax(Builder& b, const Call& call) {
  const auto in = rows(b, call, 0, 1);
  b.define(call.output(0), softmax_of(b, in, largest(b, in)));
}

/// Unlike softmax, rows that consist of -inf give zeros.
void safe_softmax(Builder& b, const Call& call) {
  const auto in = rows(b, call, 0, 1);
  const auto most = largest(b, in);
  const auto result = b.where(b.compare("eq", most, -kInf), 0.0, softmax_of(b, in, most));
  b.define(call.output(0), result);
}

void log_softmax(Builder& b, const Call& call) {
  const auto in = rows(b, call, 0, 1);
  const auto shifted = b.sub(in.x, largest(b, in));
  b.define(call.output(0), b.sub(shifted, b.log(b.sum(b.exp(shifted), in.dims, true))));
}

void softmax_backward(Builder& b, const Call& call) {
  const auto [grad, dims] = rows(b, call, 0, 2);
  const auto y = b.to(call.tensor(1), b.type(grad).dtype);
  b.define(call.output(0), b.mul(y, b.sub(grad, b.sum(b.mul(grad, y), dims, true))));
}

void log_softmax_backward(Builder& b, const Call& call) {
  const auto [grad, dims] = rows(b, call, 0, 2);
  const auto y = b.to(call.tensor(1), b.type(grad).dtype);
  b.define(call.output(0), b.sub(grad, b.mul(b.exp(y), b.sum(grad, dims, true))));
}

/// If the largest element is infinite, nothing is subtracted, so that the result is infinite and not NaN.
void logsumexp(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  Dims dims;
  for (auto dim : call.integers(1)) dims.push_back(call.wrapped(dim, b.rank(x)));
  if (dims.empty()) throw NotHandled();
  const bool keepdim = call.flag(2, false);
  const auto most = b.reduce("aten.amax", x, dims, true);
  const auto shift = b.where(b.compare("eq", b.abs(most), kInf), 0.0, most);
  const auto log = b.log(b.sum(b.exp(b.sub(x, shift)), dims, keepdim));
  b.define(call.output(0), b.add(log, keepdim ? shift : b.squeeze(shift, dims)));
}

constexpr DecompositionRow kSoftmaxRows[] = {
    {"aten._softmax", softmax},
    {"aten._log_softmax", log_softmax},
    {"aten._safe_softmax", safe_softmax},
    {"aten._softmax_backward_data", softmax_backward},
    {"aten._log_softmax_backward_data", log_softmax_backward},
    {"aten.logsumexp", logsumexp},
};

}  // namespace

std::span<const DecompositionRow> softmax_decompositions() { return kSoftmaxRows; }

}  // namespace antegrad::passes
