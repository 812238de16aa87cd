// Sums, means, norms and extrema in terms of sums, amax and amin over explicit dimensions.
#include <cmath>
#include <limits>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A tensor without dimensions is its own reduction: a decomposition gains nothing.
void refuse_scalar(Builder& b, Value x) {
  if (b.rank(x) == 0) throw NotHandled();
}

void define_sum(Builder& b, const Call& call, const Dims& dims, bool keepdim) {
  const auto dtype = call.output_type(0).dtype;
  const auto x = b.to(call.tensor(0), ir::is_floating(dtype) ? wide(dtype) : dtype);
  b.define(call.output(0), b.sum(x, dims, keepdim));
}

void sum(Builder& b, const Call& call) {
  refuse_scalar(b, call.tensor(0));
  define_sum(b, call, b.all_dims(call.tensor(0)), false);
}

/// Leaves sums over explicit dimensions alone, unless a half type needs a wider sum or the list means "all".
void sum_dims(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  refuse_scalar(b, x);
  const auto dtype = call.output_type(0).dtype;
  const bool is_plain = call.type(x).dtype == dtype && !call.integers(1).empty() && call.node().attrs.empty();
  if (is_plain && dtype != ir::DType::F16 && dtype != ir::DType::BF16) throw NotHandled();
  define_sum(b, call, call.dims_or_all(1, b.rank(x)), call.flag(2, false));
}

void nansum(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  refuse_scalar(b, x);
  const auto numbers = b.where(b.pointwise("aten.isnan", {x}, ir::DType::Bool), 0.0, x);
  b.define(call.output(0), b.sum(numbers, call.dims_or_all(1, b.rank(x)), call.flag(2, false)));
}

void count_nonzero(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  refuse_scalar(b, x);
  const auto nonzero = b.to(b.compare("ne", x, 0), ir::DType::I64);
  b.define(call.output(0), b.sum(nonzero, call.dims_or_all(1, b.rank(x))));
}

void mean(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  refuse_scalar(b, x);
  const bool is_full = call.node().op == "aten.mean";
  const auto dims = is_full ? b.all_dims(x) : call.dims_or_all(1, b.rank(x));
  b.define(call.output(0), b.mean(x, dims, !is_full && call.flag(2, false)));
}

/// (x, p = 2, dims = all, keepdim = false), for all overloads.
void norm(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  refuse_scalar(b, x);
  const auto dims = call.dims_or_all(2, b.rank(x));
  b.define(call.output(0), norm_of(b, x, call.number(1, 2), dims, call.flag(3, false)));
}

template <bool kLargest>
void extremum(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  if (call.node().args.size() != 1) throw NotHandled();
  refuse_scalar(b, x);
  b.define(call.output(0), b.reduce(kLargest ? "aten.amax" : "aten.amin", x, b.all_dims(x), false));
}

void aminmax(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  refuse_scalar(b, x);
  const auto* dim = call.keyword("dim").as<ir::Dim>();
  if (dim != nullptr && !dim->is_constant()) throw NotHandled();
  const auto dims = dim != nullptr ? Dims{call.wrapped(dim->constant(), b.rank(x))} : b.all_dims(x);
  const bool keepdim = call.keyword("keepdim") == ir::Arg(true);
  b.define(call.output(0), b.reduce("aten.amin", x, dims, keepdim));
  b.define(call.output(1), b.reduce("aten.amax", x, dims, keepdim));
}

/// any and all. For u8 the result is u8, which is left to LibTorch.
template <bool kAll>
void logical(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  refuse_scalar(b, x);
  if (call.output_type(0).dtype != ir::DType::Bool) throw NotHandled();
  const auto truth = call.type(x).dtype == ir::DType::Bool ? x : b.compare("ne", x, 0);
  const auto* op = kAll ? "aten.all.dims" : "aten.any.dims";
  b.define(call.output(0), b.reduce(op, truth, call.dims_or_all(1, b.rank(x)), call.flag(2, false)));
}

constexpr DecompositionRow kReductionsRows[] = {
    {"aten.sum", sum},
    {"aten.sum.dim_IntList", sum_dims},
    {"aten.nansum", nansum},
    {"aten.count_nonzero", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.mean", mean},
    {"aten.mean.dim", mean},
    {"aten.linalg_vector_norm", norm},
    {"aten.norm.Scalar", norm},
    {"aten.norm.ScalarOpt_dim", norm},
    {"aten.norm.ScalarOpt_dtype", norm},
    {"aten.norm.ScalarOpt_dim_dtype", norm},
    {"aten.max", extremum<true>},
    {"aten.min", extremum<false>},
    {"aten.aminmax", aminmax},
    {"aten.any", logical<false>},
    {"aten.any.dim", logical<false>},
    {"aten.all", logical<true>},
    {"aten.all.dim", logical<true>},
};

}  // namespace

Value norm_of(Builder& b, Value x, double p, const Dims& dims, bool keepdim) {
  if (p == 2) return b.sqrt(b.sum(b.square(x), dims, keepdim));
  if (p == 1) return b.sum(b.abs(x), dims, keepdim);
  if (p == kInfinity) return b.reduce("aten.amax", b.abs(x), dims, keepdim);
  if (p == -kInfinity) return b.reduce("aten.amin", b.abs(x), dims, keepdim);
  if (p == 0) return b.sum(b.to(b.compare("ne", x, 0.0), b.type(x).dtype), dims, keepdim);
  if (p < 0 && b.least(b.count(x, dims)) < 1) throw NotHandled();  // LibTorch rejects empty ones
  return b.pow(b.sum(b.pow(b.abs(x), p), dims, keepdim), 1 / p);
}

std::span<const DecompositionRow> reduction_decompositions() { return kReductionsRows; }

}  // namespace antegrad::passes
