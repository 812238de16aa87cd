#pragma once
// The expressions that tests of generated code use, as functions of double and int64_t.
#include "kernels/interpreter.h"

namespace antegrad::schedule {

inline const Meanings& meanings() {
  using Numbers = const std::vector<Number>&;
  static const Meanings kMeanings{
      {
          {"a + b", [](Numbers x) { return x[0].f + x[1].f; }},
          {"a - b", [](Numbers x) { return x[0].f - x[1].f; }},
          {"a * b", [](Numbers x) { return x[0].f * x[1].f; }},
          {"a * a", [](Numbers x) { return x[0].f * x[0].f; }},
          {"a / b", [](Numbers x) { return x[0].f / x[1].f; }},
          {"a + c * b", [](Numbers x) { return x[0].f + x[2].f * x[1].f; }},
          {"a * b + c", [](Numbers x) { return x[0].f * x[1].f + x[2].f; }},
          {"a / (1 + b * b)", [](Numbers x) { return x[0].f / (1 + x[1].f * x[1].f); }},
          {"a * 0.5 - 0.25", [](Numbers x) { return x[0].f * 0.5 - 0.25; }},
          {"3 * a", [](Numbers x) { return 3 * x[0].f; }},
          {"1 / a", [](Numbers x) { return 1 / x[0].f; }},
          {"exp(a)", [](Numbers x) { return std::exp(x[0].f); }},
          {"exp(a - b)", [](Numbers x) { return std::exp(x[0].f - x[1].f); }},
          {"exp(a - b) * c", [](Numbers x) { return std::exp(x[0].f - x[1].f) * x[2].f; }},
          {"tanh(a)", [](Numbers x) { return std::tanh(x[0].f); }},
          {"sqrt(abs(a) + 0.5)", [](Numbers x) { return std::sqrt(std::fabs(x[0].f) + 0.5); }},
          {"1 / (1 + exp(-a))", [](Numbers x) { return 1 / (1 + std::exp(-x[0].f)); }},
          {"nan_max(a, b)", [](Numbers x) { return std::max(x[0].f, x[1].f); }},
          {"a < 0 ? 0 : a", [](Numbers x) { return x[0].f < 0 ? 0 : x[0].f; }},
          {"a ? b : c", [](Numbers x) { return x[0].i != 0 ? x[1].f : x[2].f; }},
          {"a ? b / 0.75 : 0", [](Numbers x) { return x[0].i != 0 ? x[1].f / 0.75 : 0; }},
          {"(a - b) * c", [](Numbers x) { return (x[0].f - x[1].f) * x[2].f; }},
          {"(a - b) * c * d + e", [](Numbers x) { return (x[0].f - x[1].f) * x[2].f * x[3].f + x[4].f; }},
          {"1 / sqrt(a / b + 0.00001)", [](Numbers x) { return 1 / std::sqrt(x[0].f / x[1].f + 0.00001); }},
          {"(a * b - c - d * e) * f",
           [](Numbers x) { return (x[0].f * x[1].f - x[2].f - x[3].f * x[4].f) * x[5].f; }},
          {"unit(a, 24)", [](Numbers x) { return static_cast<double>(x[0].i >> 8) * 0x1p-24; }},
          {"unit(a, 53)",
           [](Numbers x) { return std::ldexp(static_cast<double>(uint64_t(x[0].i) >> 11), -53); }},
      },
      {
          {"a + b", [](Numbers x) { return x[0].i + x[1].i; }},
          {"a * b", [](Numbers x) { return x[0].i * x[1].i; }},
          {"a * b + c", [](Numbers x) { return x[0].i * x[1].i + x[2].i; }},
          {"-a", [](Numbers x) { return -x[0].i; }},
          {"~a", [](Numbers x) { return ~x[0].i; }},
          {"!a", [](Numbers x) { return int64_t{x[0].i == 0}; }},
          {"a & b", [](Numbers x) { return x[0].i & x[1].i; }},
          {"a ^ b", [](Numbers x) { return x[0].i ^ x[1].i; }},
          {"a << 3", [](Numbers x) { return x[0].i * 8; }},
          {"nan_max(a, b)", [](Numbers x) { return std::max(x[0].i, x[1].i); }},
          {"a != 0 && b != 0", [](Numbers x) { return int64_t{x[0].i != 0 && x[1].i != 0}; }},
          {"a != 0 || b != 0", [](Numbers x) { return int64_t{x[0].i != 0 || x[1].i != 0}; }},
          {"a > 0", [](Numbers x) { return int64_t{x[0].f > 0}; }},
          {"a < b", [](Numbers x) { return int64_t{x[0].f < x[1].f}; }},
          {"unit(a, 24) < 0.75",
           [](Numbers x) { return int64_t{static_cast<double>(x[0].i >> 8) * 0x1p-24 < 0.75}; }},
      }};
  return kMeanings;
}

}  // namespace antegrad::schedule
