#pragma once
// The random numbers of a compiled function: a contract between all implementations (the functions here and
// generated code), on any device and with any number of threads.
//
// A stream is identified by a 64-bit seed. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", 2011), with the seed as its key (low word first), maps each 64-bit counter (low word first, then
// two zero words) to four random words of 32 bits. A random op starts at counter `first` = offset in the
// state + offset of its node. Its element i, counted in row-major order of the result regardless of strides,
// depends only on
//   counter first + i / 4, lane i % 4   for ops that take one word per element; lane k is word k;
//   counter first + i / 2, lane i % 2   for ops that take two; lane k is words 2k (low) and 2k + 1 (high).
// Two words are taken for 64-bit floating-point results and for integers from a range of more than
// kOneWordRange values, one word otherwise. An op over n elements thus uses ceil(n / 4) or ceil(n / 2)
// counters.
//
// The functions below define how bits become variates. Real is double where there are two words, float
// otherwise. Multiplications and additions must not be contracted to fused multiply-adds.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <type_traits>

namespace antegrad::philox {

using Words = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

/// Philox4x32-10. Unrolled, so that processors overlap the rounds of neighbouring counters.
inline Words encrypt(const Words& counter, const Key& key) {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = key;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c0;
    const uint64_t b = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c0, c1, c2, c3};
}

inline uint32_t low_word(uint64_t bits) { return static_cast<uint32_t>(bits); }
inline uint32_t high_word(uint64_t bits) { return static_cast<uint32_t>(bits >> 32); }

inline Words words(uint64_t seed, uint64_t counter) {
  return encrypt({low_word(counter), high_word(counter), 0, 0}, {low_word(seed), high_word(seed)});
}

/// The bits of each lane: four lanes of 32 bits for float, two of 64 for double.
template <class Real>
auto lanes(const Words& words) {
  if constexpr (std::is_same_v<Real, double>)
    return std::array<uint64_t, 2>{words[0] | uint64_t{words[1]} << 32, words[2] | uint64_t{words[3]} << 32};
  else
    return words;
}

/// Uniform in [0, 1): the upper `digits` bits as a multiple of 2^-digits. `digits` is the precision of the
/// result's type: 53 for double, 24 for float, 11 for half, 8 for bfloat16.
inline float unit(uint32_t bits, int digits) {
  return static_cast<float>(bits >> (32 - digits)) * std::ldexp(1.0F, -digits);
}
inline double unit(uint64_t bits, int digits) {
  return static_cast<double>(bits >> (64 - digits)) * std::ldexp(1.0, -digits);
}

/// Uniform in the open interval (0, 1): an odd multiple of 2^-24 or 2^-53.
inline float open_unit(uint32_t bits) { return (static_cast<float>(bits >> 9) + 0.5F) * 0x1p-23F; }
inline double open_unit(uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

/// True with probability p, rounded up to a multiple of 2^-32 or 2^-53. The comparison does not round.
inline bool chance(uint32_t bits, double p) { return static_cast<double>(bits) * 0x1p-32 < p; }
inline bool chance(uint64_t bits, double p) { return static_cast<double>(bits >> 11) * 0x1p-53 < p; }

/// Integers from a range of at most so many values take one word.
constexpr uint64_t kOneWordRange = uint64_t{1} << 16;

/// The number of integers in [low, high), or up to the largest 64-bit integer without `high`; 0 stands for
/// 2^64.
inline uint64_t range(int64_t low, std::optional<int64_t> high) {
  const auto end = high ? static_cast<uint64_t>(*high) : uint64_t{1} << 63;
  return end - static_cast<uint64_t>(low);
}
inline bool is_one_word_range(uint64_t range) { return range != 0 && range <= kOneWordRange; }

/// An integer in [0, range), from the upper half of a product; a range of 0 stands for 2^64.
inline uint64_t below(uint32_t bits, uint64_t range) { return bits * range >> 32; }
inline uint64_t below(uint64_t bits, uint64_t range) {
  __extension__ using Product = unsigned __int128;
  return range == 0 ? bits : static_cast<uint64_t>(Product{bits} * range >> 64);
}

/// Standard normal variates by the Box-Muller transform: lanes 0 and 1 (and 2 and 3) share a radius, made
/// from the bits of the first, and an angle, made from those of the second. The first lane takes the cosine,
/// the second the sine.
template <class Real>
auto normals(const Words& words) {
  const auto bits = lanes<Real>(words);
  constexpr int kDigits = std::is_same_v<Real, double> ? 53 : 24;
  std::array<Real, std::tuple_size_v<decltype(bits)>> result;
  for (size_t k = 0; k < result.size(); k += 2) {
    const Real radius = std::sqrt(Real(-2) * std::log(open_unit(bits[k])));
    const Real angle = 2 * std::numbers::pi_v<Real> * unit(bits[k + 1], kDigits);
    result[k] = radius * std::cos(angle);
    result[k + 1] = radius * std::sin(angle);
  }
  return result;
}

// Distributions, as LibTorch defines them, of a variate from the open interval (0, 1).
template <class Real>
Real exponential(Real open, Real lambda) {
  return -std::log(open) / lambda;
}
template <class Real>
Real geometric(Real open, Real p) {  ///< 1, 2, …
  return std::ceil(std::log(open) / std::log1p(-p));
}
/// Computed in double, because float has no value close enough to a right angle.
template <class Real>
Real cauchy(Real open, Real median, Real sigma) {
  return median + sigma * static_cast<Real>(std::tan(std::numbers::pi * (static_cast<double>(open) - 0.5)));
}

}  // namespace antegrad::philox
