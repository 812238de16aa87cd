#include "fuzz/op.h"

#include <cmath>
#include <limits>

namespace antegrad::fuzz {

const Var* Scope::pick(Rng& rng, const Accept& accept) const {
  std::vector<const Var*> fitting;
  for (const Var& var : vars_)
    if (!accept || accept(var.tensor)) fitting.push_back(&var);
  if (fitting.empty()) return nullptr;
  const size_t recent = 5;
  if (fitting.size() > recent && rng.percent(50))
    return fitting[fitting.size() - 1 - static_cast<size_t>(rng.below(recent))];
  return rng.pick(fitting);
}

const Var* Scope::pick(Rng& rng) const { return pick(rng, Accept()); }

int64_t Scope::extent(Rng& rng) const {
  const at::Tensor& tensor = rng.pick(vars_).tensor;
  return tensor.dim() == 0 ? rng.range(1, 3) : tensor.size(rng.below(tensor.dim()));
}

const std::vector<Op>& all_ops() {
  static const std::vector<Op> table = [] {
    std::vector<Op> ops;
    add_pointwise_ops(ops);
    add_reduction_ops(ops);
    add_index_ops(ops);
    add_view_ops(ops);
    add_inplace_ops(ops);
    add_metadata_ops(ops);
    add_awkward_ops(ops);
    add_smooth_ops(ops);
    add_smooth_writes(ops);
    add_autograd_ops(ops);
    return ops;
  }();
  return table;
}

bool is_float(const at::Tensor& tensor) { return tensor.is_floating_point(); }
bool is_real(const at::Tensor& tensor) { return !tensor.is_complex(); }
bool is_integer(const at::Tensor& tensor) { return at::isIntegralType(tensor.scalar_type(), false); }

bool broadcasts_to(const at::Tensor& from, const at::Tensor& to) {
  if (from.dim() > to.dim()) return false;
  for (int64_t d = 1; d <= from.dim(); ++d)
    if (from.size(-d) != to.size(-d) && from.size(-d) != 1) return false;
  return true;
}

Scope::Accept has_dim(int64_t at_least, const Scope::Accept& also) {
  return [=](const at::Tensor& tensor) { return tensor.dim() >= at_least && (!also || also(tensor)); };
}

at::Scalar scalar(double number) {
  if (!(std::abs(number) < 1e15)) return number;
  const auto integer = static_cast<int64_t>(number);
  if (integer == 0 && std::signbit(number)) return number;
  return static_cast<double>(integer) == number ? at::Scalar(integer) : at::Scalar(number);
}

const std::vector<double>& awkward_numbers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static const std::vector<double> numbers = {
      0.1,          -0.1,       1e-8,       65520, 65504,  -0.0, kInfinity, -kInfinity,
      std::nan(""), 16777217.0, 1.00390625, 1e-45, 1 / 3., 0.3,  257,       0.0};
  return numbers;
}

double small_number(Rng& rng) {
  if (rng.awkward && rng.percent(60)) return rng.pick(awkward_numbers());
  static const std::vector<double> numbers = {-3, -2, -1, 0, 1, 2, 3, 5, 0.5, -1.5};
  return rng.pick(numbers);
}

at::Tensor whole(const at::Tensor& tensor) {
  return is_float(tensor) ? at::round(at::clamp(tensor, -8, 8)) : tensor;
}

at::Tensor castable(const at::Tensor& tensor, at::ScalarType target) {
  if (!is_float(tensor) || !at::isIntegralType(target, false)) return tensor;
  return at::clamp(at::nan_to_num(tensor, 0), target == at::kByte ? 0 : -100, 100);
}

at::Tensor index_below(const at::Tensor& tensor, int64_t end) {
  return at::remainder(castable(tensor, at::kLong).to(at::kLong), end);
}

at::Tensor divisor(const at::Tensor& tensor) { return at::add(at::abs(tensor), 1); }

}  // namespace antegrad::fuzz
