#pragma once
// Contents of buffers in tests, as plain numbers and as bytes.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "ir/types.h"

namespace antegrad::schedule {

/// A number of any dtype: in `f` for floating point, else in `i`.
struct Number {
  double f = 0;
  int64_t i = 0;
};

inline double round_to_bf16(double value) {
  const auto number = static_cast<float>(value);
  if (std::isnan(number)) return number;
  auto bits = std::bit_cast<uint32_t>(number);
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

inline double round_to_f16(double value) {
  const auto number = static_cast<double>(static_cast<float>(value));
  if (number == 0 || !std::isfinite(number)) return number;
  const int exponent = std::max(std::ilogb(number), -14);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(number / unit) * unit;
  return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, number) : rounded;
}

/// Rounds or wraps a number as storing it in `dtype` does.
inline Number kept_as(ir::DType dtype, const Number& number) {
  using ir::DType;
  switch (dtype) {
    case DType::F32:
      return {static_cast<double>(static_cast<float>(number.f)), 0};
    case DType::BF16:
      return {round_to_bf16(number.f), 0};
    case DType::F16:
      return {round_to_f16(number.f), 0};
    case DType::F64:
      return number;
    case DType::Bool:
      return {0, number.i != 0};
    case DType::U8:
      return {0, static_cast<uint8_t>(number.i)};
    case DType::I8:
      return {0, static_cast<int8_t>(number.i)};
    case DType::I16:
      return {0, static_cast<int16_t>(number.i)};
    case DType::I32:
      return {0, static_cast<int32_t>(number.i)};
    case DType::U32:
      return {0, static_cast<uint32_t>(number.i)};
    default:
      return {0, number.i};
  }
}

using Memory = std::vector<Number>;

namespace detail {

inline uint16_t f16_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double a = std::fabs(value);
  if (std::isinf(a)) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | static_cast<uint16_t>(a * 0x1p24);
  const int exponent = std::ilogb(a);
  return sign | static_cast<uint16_t>((exponent + 15) << 10 |
                                      static_cast<int>((a / std::ldexp(1.0, exponent) - 1) * 1024));
}
inline double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * mantissa * 0x1p-24;
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

}  // namespace detail

inline void put(ir::DType dtype, uint8_t* to, const Number& number) {
  using ir::DType;
  const auto copy = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (dtype) {
    case DType::F32:
      return copy(static_cast<float>(number.f));
    case DType::F64:
      return copy(number.f);
    case DType::BF16:
      return copy(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(number.f)) >> 16));
    case DType::F16:
      return copy(detail::f16_bits(number.f));
    default:
      std::memcpy(to, &number.i, static_cast<size_t>(ir::size_in_bytes(dtype)));
  }
}

inline Number get(ir::DType dtype, const uint8_t* from) {
  using ir::DType;
  const auto read = [&](auto value) {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::F32:
      return {read(0.0F), 0};
    case DType::F64:
      return {read(0.0), 0};
    case DType::BF16:
      return {std::bit_cast<float>(static_cast<uint32_t>(read(uint16_t{0})) << 16), 0};
    case DType::F16:
      return {detail::f16_value(read(uint16_t{0})), 0};
    case DType::I8:
      return {0, read(int8_t{0})};
    case DType::I16:
      return {0, read(int16_t{0})};
    case DType::I32:
      return {0, read(int32_t{0})};
    case DType::I64:
    case DType::U64:
      return {0, read(int64_t{0})};
    case DType::U32:
      return {0, read(uint32_t{0})};
    default:
      return {0, read(uint8_t{0})};
  }
}

/// Returns numbers between -2 and 2, or integers from -20 to 20 (0 to 40 for U8, 0 or 1 for Bool).
inline Memory random_memory(ir::DType dtype, int64_t elements, std::mt19937_64& random) {
  Memory out(static_cast<size_t>(elements));
  for (auto& number : out) {
    const bool unsigned_type = dtype == ir::DType::U8 || dtype == ir::DType::Bool;
    number.f = std::uniform_real_distribution<double>(-2, 2)(random);
    number.i = static_cast<int64_t>(random() % 41) - (unsigned_type ? 0 : 20);
    if (dtype == ir::DType::Bool) number.i &= 1;
    number = kept_as(dtype, number);
  }
  return out;
}

}  // namespace antegrad::schedule
