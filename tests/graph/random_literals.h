#pragma once
// Random literals, dims and types: edge cases first.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/graph.h"

namespace antegrad::ir::testing {

class RandomLiterals {
 public:
  explicit RandomLiterals(uint64_t seed) : rng_(seed) {}

  int below(int limit) { return static_cast<int>(rng_() % static_cast<uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }

  template <class Enum>
  Enum pick(int last) {
    return static_cast<Enum>(below(last + 1));
  }

  std::string text() {
    static const char* const kTexts[] = {
        "",  "x",    "layer1.conv", "a b", "quote\" back\\slash",  "tab\tnewline\n",
        "}", "%0 #", "f32",         "1.5", "\x01\x7f\xff\xc3\xa4", "x\"00\""};
    std::string out = kTexts[below(12)];
    if (one_in(6)) out.push_back('\0');
    return out;
  }
  std::string maybe_text() { return one_in(2) ? std::string() : text(); }
  std::string name() { return one_in(3) ? text() : std::string("forward_") + std::to_string(below(9)); }

  int64_t integer() {
    static constexpr int64_t kEdges[] = {
        0, 1, -1, 2, 3, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    return one_in(2) ? kEdges[below(7)] : below(2000) - 500;
  }
  Range range() {
    Range out;
    if (!one_in(4)) out.lower = below(100) - 20;
    if (!one_in(4)) out.upper = below(5000);
    return out;
  }

  Dim dim() {
    if (symbols_ == 0 || one_in(2)) return below(20);
    Dim out = Dim::symbol(below(symbols_));
    if (one_in(3)) out = out * Dim::symbol(below(symbols_)) - Dim(below(9));
    if (one_in(4)) out = floor_div(out + Dim(below(5)), Dim(below(4) + 2));
    if (one_in(6)) out = mod(out, Dim(below(4) + 2));
    if (one_in(6)) out = min(out, Dim::symbol(below(symbols_)) + Dim(below(3)));
    if (one_in(6)) out = max(out * Dim(3), Dim(below(30)));
    return out;
  }
  std::vector<Dim> dims(int count) {
    std::vector<Dim> out;
    for (int i = 0; i < count; ++i) out.push_back(dim());
    return out;
  }
  Device device() { return {pick<Device::Kind>(2), below(4) - 1}; }

  TensorType tensor() {
    TensorType out = contiguous_tensor(pick<DType>(17), dims(below(4)), one_in(3) ? device() : Device{});
    if (one_in(3)) out.strides = dims(one_in(5) ? below(4) : static_cast<int>(out.sizes.size()));
    if (one_in(4)) out.offset = one_in(3) ? Dim(-below(9)) : dim();
    return out;
  }
  Type type(int depth = 2) {
    if (depth > 0 && one_in(8)) return Type::list(type(depth - 1));
    if (depth > 0 && one_in(8)) return Type::optional(type(depth - 1));
    if (one_in(4)) return pick<ScalarKind>(6);
    return tensor();
  }

  double number() {
    static const double kEdges[] = {
        0.0,         -0.0,    1.0,   -1.0,     0.1,       1e300,        5e-324, 1e16,
        123456789.0, 1.0 / 3, 2e-10, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e22,   2.2250738585072014e-308};
    if (one_in(2)) return kEdges[below(16)];
    return std::bit_cast<double>(rng_());
  }

  Bytes bytes() {
    std::vector<uint8_t> out(static_cast<size_t>(below(9)));
    for (auto& byte : out) byte = static_cast<uint8_t>(rng_());
    return std::make_shared<const std::vector<uint8_t>>(std::move(out));
  }

 protected:
  std::mt19937_64 rng_;
  int symbols_ = 0;  ///< how many symbols dims may use
};

}  // namespace antegrad::ir::testing
