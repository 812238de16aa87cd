#include "ir/element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace antegrad::ir {
namespace {

/// Parameters of a floating-point format.
struct Format {
  int digits;    ///< of the significand, including the leading bit
  int smallest;  ///< exponent of the smallest normal number
  double largest;
};

Format format_of(DType dtype) {
  if (dtype == DType::F16) return {11, -14, 65504};
  if (dtype == DType::BF16) return {8, -126, 0x1.fep127};
  if (dtype == DType::F32) return {24, -126, std::numeric_limits<float>::max()};
  return {53, -1022, std::numeric_limits<double>::max()};
}

double rounded_half(DType dtype, float number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const auto format = format_of(dtype);
  const int exponent = std::max(std::ilogb(number), format.smallest);
  const double unit = std::ldexp(1.0, exponent - format.digits + 1);
  const double rounded = std::nearbyint(number / unit) * unit;  // ties to even, the default rounding mode
  if (std::fabs(rounded) <= format.largest) return std::copysign(rounded, number);
  return std::copysign(std::numeric_limits<double>::infinity(), number);
}

/// The half-open range of an integer type, as doubles.
struct IntegerRange {
  double low, above;
};

IntegerRange range_of(DType dtype) {
  const auto bits = static_cast<int>(8 * size_in_bytes(dtype));
  const bool is_signed =
      dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
  return is_signed ? IntegerRange{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1)}
                   : IntegerRange{0, std::ldexp(1.0, bits)};
}

}  // namespace

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

double rounded_to(DType dtype, double number) {
  if (dtype == DType::F64) return number;
  const auto single = static_cast<float>(number);
  return is_half(dtype) ? rounded_half(dtype, single) : single;
}

double rounded_to(DType dtype, int64_t number) {
  if (dtype == DType::F64) return static_cast<double>(number);
  const auto single = static_cast<float>(number);
  return is_half(dtype) ? rounded_half(dtype, single) : single;
}

bool fits(DType dtype, double number) {
  if (dtype == DType::Bool) return true;
  if (is_floating(dtype)) return !std::isfinite(number) || std::fabs(number) <= format_of(dtype).largest;
  const auto range = range_of(dtype);
  // The largest i64 is compared as a double, where it becomes 2^63.
  return number >= range.low && (dtype == DType::I64 ? number <= range.above : number <= range.above - 1);
}

bool fits(DType dtype, int64_t number) {
  if (dtype == DType::Bool || dtype == DType::I64) return true;
  if (is_floating(dtype)) return fits(dtype, static_cast<double>(number));
  const auto range = range_of(dtype);
  const auto value = static_cast<double>(number);
  // Unsigned types accept small negative numbers, which wrap around.
  const bool wraps = range.low == 0 && value < 0 && -value < range.above;
  return wraps || (value >= range.low && value < range.above);
}

}  // namespace antegrad::ir
