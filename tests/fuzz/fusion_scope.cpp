#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

const std::vector<at::ScalarType> kDtypes{at::kFloat,    at::kFloat, at::kFloat, at::kFloat, at::kDouble,
                                          at::kBFloat16, at::kHalf,  at::kLong,  at::kInt,   at::kShort,
                                          at::kChar,     at::kByte,  at::kBool,  at::kBool,  at::kFloat};
constexpr double kLargest = 1e4;     ///< of the finite numbers, all within the range of half precision
constexpr double kConditioned = .1;  ///< the largest error, relative to the largest number

int64_t product(const Ints& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

FusionScope::FusionScope(uint64_t seed) : rng_(seed), shaker_(seed + 1) {
  static const Ints kExtents{1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 64, 97, 128, 257, 1024};
  static const Ints kElements{300, 2000, 2000, 2000, 2000, 20000, 20000};
  program_.seed = seed;
  for (int i = 0; i < 4; ++i) extents_.push_back(rng_.pick(kExtents));
  if (rng_.percent(4)) extents_.push_back(0);
  most_elements_ = rng_.percent(3) ? 200'000 : rng_.pick(kElements);
  specials_ = rng_.percent(12);
}

int FusionScope::pick(const Accept& accept) {
  std::vector<int> fits;
  for (size_t i = 0; i < values_.size(); ++i)
    if (accept(values_[i].eager)) fits.push_back(static_cast<int>(i));
  if (fits.empty()) return -1;
  const auto count = static_cast<int64_t>(fits.size());
  return fits[static_cast<size_t>(std::max(rng_.below(count), rng_.below(count)))];
}

int FusionScope::pick() {
  return pick([](const Tensor&) { return true; });
}

int64_t FusionScope::extent() { return rng_.pick(extents_); }

Ints FusionScope::sizes() {
  Ints sizes;
  for (auto rank = rng_.range(0, 4); rank > 0; --rank) sizes.push_back(rng_.percent(15) ? 1 : extent());
  while (product(sizes) > most_elements_) *std::max_element(sizes.begin(), sizes.end()) = rng_.range(1, 3);
  return sizes;
}

/// Returns the same numbers with other strides.
Tensor FusionScope::laid_out(const Tensor& tensor) {
  const auto rank = tensor.dim();
  if (rank == 0 || rng_.percent(45)) return tensor;
  if (rank == 4 && rng_.percent(50)) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  const auto dim = rng_.below(rank);
  const auto other = rng_.below(rank);
  switch (rng_.below(4)) {
    case 0:
      return tensor.transpose(dim, other).contiguous().transpose(dim, other);
    case 1:  // every second element of twice as many
      return at::stack({tensor, tensor}, dim + 1)
          .flatten(dim, dim + 1)
          .slice(dim, rng_.below(2), std::nullopt, 2);
    case 2:  // within a larger tensor
      return at::cat({tensor, tensor}, dim)
          .narrow(dim, rng_.percent(50) ? tensor.size(dim) : 0, tensor.size(dim));
    default:  // one row, expanded
      return tensor.size(dim) == 0 ? tensor : tensor.narrow(dim, 0, 1).expand(tensor.sizes());
  }
}

Tensor FusionScope::random_tensor(at::ScalarType dtype, const Ints& sizes) {
  auto generator = at::detail::createCPUGenerator(rng_.bits());
  if (!at::isFloatingType(dtype)) {
    const auto low = dtype == at::kByte || dtype == at::kBool ? 0 : -9;
    const auto high = dtype == at::kBool ? 2 : rng_.percent(20) ? 120 : 10;
    return laid_out(at::randint(low, high, sizes, generator, at::kLong).to(dtype));
  }
  auto numbers = rng_.percent(40) ? at::randint(-16, 17, sizes, generator, at::kDouble).mul_(0.25)
                                  : at::randn(sizes, generator, at::kDouble);
  if (rng_.percent(30)) numbers = numbers.abs().add_(0.125);
  return laid_out(numbers.to(at::kFloat).to(dtype));
}

Tensor FusionScope::with_specials(const Tensor& tensor) {
  if (!specials_ || !is_floating(tensor) || tensor.numel() < 3) return tensor;
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  const auto out = tensor.clone();
  for (const double special : {std::nan(""), kInfinity, -kInfinity, 0.0, -0.0})
    if (rng_.percent(60)) {
      auto element = out;
      while (element.dim() > 0) element = element.select(0, rng_.below(element.size(0)));
      element.fill_(special);
    }
  return out;
}

int FusionScope::add_input(Tensor tensor) {
  FusionStep step;
  step.input = std::move(tensor);
  values_.push_back(compute(step, values_, shaker_));
  program_.steps.push_back(std::move(step));
  return static_cast<int>(values_.size()) - 1;
}

int FusionScope::add_input() { return add_input(with_specials(random_tensor(rng_.pick(kDtypes), sizes()))); }

int FusionScope::add_indices(const Ints& sizes, int64_t bound, bool wraps) {
  auto generator = at::detail::createCPUGenerator(rng_.bits());
  const auto low = wraps && rng_.percent(40) ? -bound : 0;
  return add_input(laid_out(at::randint(low, bound, sizes, generator, at::kLong)));
}

bool FusionScope::comparable(const Computed& value) const {
  const auto dtype = value.eager.scalar_type();
  if (std::find(kDtypes.begin(), kDtypes.end(), dtype) == kDtypes.end()) return false;
  if (value.eager.numel() > most_elements_ || value.eager.dim() > 5 ||
      value.eager.sizes() != value.wide.sizes())
    return false;
  if (value.eager.numel() == 0) return true;
  if (!is_floating(value.eager))
    return value.wide.scalar_type() == dtype && at::equal(value.eager, value.wide);
  const auto finite = at::isfinite(value.wide);
  if (!specials_ && !finite.all().item<bool>()) return false;
  const auto same_specials = [&](const Tensor& other) {
    return at::allclose(at::where(finite, 0.0, value.wide), at::where(finite, 0.0, other.to(at::kDouble)), 0,
                        0, true);
  };
  if (!same_specials(value.eager) || !same_specials(value.shaken)) return false;
  const auto scale = at::where(finite, value.wide, 0.0).abs().max().item<double>();
  return scale <= kLargest && error_bound(value) <= kConditioned * scale + 1e-6;
}

bool FusionScope::try_add(FusionStep step) {
  bool exact = true;
  for (const int arg : step.args) exact = exact && values_[static_cast<size_t>(arg)].exact;
  if (step.op->jumps && !exact) return false;
  try {
    auto value = compute(step, values_, shaker_);
    if (!comparable(value)) return false;
    values_.push_back(std::move(value));
  } catch (const std::exception&) {  // LibTorch throws std::runtime_error for numbers that f16 cannot hold
    return false;
  }
  program_.steps.push_back(std::move(step));
  return true;
}

void FusionScope::shrink_to(size_t variables) {
  values_.resize(variables);
  program_.steps.resize(variables);
}

}  // namespace antegrad::fuzz
