// Pointwise ops with arguments that the expressions of ops_pointwise.def do not cover.
#include <limits>

#include "ir/element.h"
#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

template <bool kDivides>
void add_product(Builder& b, const Call& call) {
  const auto dtype = wide(call.output_type(0).dtype);
  // Operands of other types are first converted to the type of the result.
  const auto operand = [&](size_t i) { return b.to(b.to(call.tensor(i), call.output_type(0).dtype), dtype); };
  b.define(call.output(0),
           add_product_of(b, operand(0), operand(1), operand(2), call.keyword_number("value", 1), kDivides));
}

/// log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps is given.
void logit(Builder& b, const Call& call) {
  auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  if (!(call.arg(1) == ir::Arg())) {
    const double eps = ir::rounded_to(call.output_type(0).dtype, call.number(1));
    x = b.where(b.compare("lt", x, eps), eps, b.where(b.compare("gt", x, 1 - eps), 1 - eps, x));
  }
  b.define(call.output(0), b.log(b.div(x, b.rsub(x, 1.0))));
}

void logit_backward(Builder& b, const Call& call) {
  const auto type = call.output_type(0).dtype, dtype = wide(type);
  const auto grad = b.to(call.tensor(0), dtype), x = b.to(call.tensor(1), dtype);
  const bool clamped = !(call.arg(2) == ir::Arg());
  const double low = clamped ? ir::rounded_to(type, call.number(2)) : 0, high = ir::rounded_to(type, 1 - low);
  const double outside = clamped ? 0 : std::numeric_limits<double>::quiet_NaN();
  const auto inside = b.div(grad, b.mul(x, b.rsub(x, 1.0)));
  const auto above = b.where(b.compare("gt", x, high), outside, inside);
  b.define(call.output(0), b.where(b.compare("lt", x, low), outside, above));
}

/// In training mode, `noise` holds the factor of each element; otherwise the op is a leaky ReLU.
void rrelu_backward(Builder& b, const Call& call) {
  const auto dtype = wide(call.output_type(0).dtype);
  const auto grad = b.to(call.tensor(0), dtype);
  const double lower = call.number(3), upper = call.number(4);
  if (call.flag(5) && upper - lower > 1e-6) {
    b.define(call.output(0), b.mul(grad, b.to(call.tensor(2), dtype)));
    return;
  }
  const auto positive = b.compare("gt", b.to(call.tensor(1), dtype), 0.0);
  b.define(call.output(0), b.where(positive, grad, b.mul(grad, (lower + upper) / 2)));
}

constexpr DecompositionRow kPointwiseRows[] = {
    {"aten.addcmul", add_product<false>},
    {"aten.addcdiv", add_product<true>},
    {"aten.logit", logit},
    {"aten.logit_backward", logit_backward},
    {"aten.rrelu_with_noise_backward", rrelu_backward},
};

}  // namespace

Value add_product_of(Builder& b, Value self, Value left, Value right, double value, bool divides) {
  if (value != 1) left = b.mul(left, value);
  return b.add(self, divides ? b.div(left, right) : b.mul(left, right));
}

std::span<const DecompositionRow> pointwise_decompositions() { return kPointwiseRows; }

}  // namespace antegrad::passes
