// Generated code draws the random numbers of util/philox.h.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/text/prelude_testing.h"
#include "util/philox.h"

namespace antegrad::codegen {
namespace {

class PreludeRandom : public ::testing::TestWithParam<std::string> {};

TEST_P(PreludeRandom, RowsHoldTheWordsOfTheirElements) {
  const CompiledPrelude prelude(
      {{"ag_philox_row", "", {}}, {"ag_philox_row_64", "", {}}}, GetParam(),
      "void row(uint32_t* out, uint64_t seed, uint64_t first, int64_t element, int64_t n) {\n"
      "  ag_philox_row(out, seed, first, element, n);\n}\n"
      "void row_64(uint64_t* out, uint64_t seed, uint64_t first, int64_t element, int64_t n) {\n"
      "  ag_philox_row_64(out, seed, first, element, n);\n}\n");
  const auto row = prelude.symbol<void(uint32_t*, uint64_t, uint64_t, int64_t, int64_t)>("row");
  const auto row_64 = prelude.symbol<void(uint64_t*, uint64_t, uint64_t, int64_t, int64_t)>("row_64");
  const uint64_t seed = 0x9876543210fedcba;
  for (const uint64_t first : {uint64_t{0}, uint64_t{12345}, (uint64_t{1} << 32) - 3, ~uint64_t{0} - 5})
    for (const int64_t element : {0, 1, 2, 3, 4, 7, 1001})
      for (const int64_t n : {0, 1, 2, 3, 4, 5, 63, 64, 300}) {
        std::vector<uint32_t> words(n + 1, 42);
        row(words.data(), seed, first, element, n);
        std::vector<uint64_t> pairs(n + 1, 42);
        row_64(pairs.data(), seed, first, element, n);
        for (int64_t i = 0; i < n; ++i) {
          const auto e = static_cast<uint64_t>(element + i);
          ASSERT_EQ(words[i], philox::words(seed, first + e / 4)[e % 4])
              << first << " " << element << " " << n << " " << i;
          ASSERT_EQ(pairs[i], philox::lanes<double>(philox::words(seed, first + e / 2))[e % 2])
              << element << " " << i;
        }
        ASSERT_EQ(words[n], 42U);
        ASSERT_EQ(pairs[n], 42U);
      }
}

std::vector<Signature> variate_functions() {
  const std::string u32 = "uint32_t", u64 = "uint64_t", f32 = "float", f64 = "double", i = "int";
  return {{"ag_unit_f32", f32, {u32, i}},
          {"ag_unit_f64", f64, {u64, i}},
          {"ag_open_unit_f32", f32, {u32}},
          {"ag_open_unit_f64", f64, {u64}},
          {"ag_chance_f32", "_Bool", {u32, f64}},
          {"ag_chance_f64", "_Bool", {u64, f64}},
          {"ag_below_32", u64, {u32, u64}},
          {"ag_below_64", u64, {u64, u64}},
          {"ag_normal_f32", f32, {u32, u32, i}},
          {"ag_normal_f64", f64, {u64, u64, i}},
          {"ag_exponential_f32", f32, {f32, f32}},
          {"ag_exponential_f64", f64, {f64, f64}},
          {"ag_geometric_f32", f32, {f32, f32}},
          {"ag_geometric_f64", f64, {f64, f64}},
          {"ag_cauchy_f32", f32, {f32, f32, f32}},
          {"ag_cauchy_f64", f64, {f64, f64, f64}},
          {"ag_log_normal_f32", f32, {f32, f32, f32}}};
}

template <class Bits>
std::vector<Bits> random_bits() {
  std::mt19937_64 random(3);
  std::vector<Bits> bits = {0, 1, static_cast<Bits>(~Bits{0}),
                            static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1))};
  while (bits.size() < 4007) bits.push_back(static_cast<Bits>(random()));
  return bits;
}

/// Checks what must be equal to the last bit, for one width of words.
template <class Real, class Bits>
void check_exact(const CompiledPrelude& prelude, const std::string& type, const std::string& width,
                 const std::vector<int>& digits) {
  const auto bits = random_bits<Bits>();
  const auto open = prelude.map<Real>("ag_open_unit_" + type, bits);
  for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(open[i], philox::open_unit(bits[i]));
  for (const int d : digits) {
    const auto unit = prelude.map<Real>("ag_unit_" + type, bits, std::vector<int>(bits.size(), d));
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(unit[i], philox::unit(bits[i], d));
  }
  for (const double p : {0.0, 0.3, 0.5, 1.0}) {
    const auto chance = prelude.map<bool>("ag_chance_" + type, bits, std::vector<double>(bits.size(), p));
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(chance[i], philox::chance(bits[i], p));
  }
  for (const uint64_t range : {uint64_t{1}, uint64_t{10}, uint64_t{65536}, uint64_t{0}}) {
    if (range == 0 && sizeof(Bits) == 4) continue;
    const auto below =
        prelude.map<uint64_t>("ag_below_" + width, bits, std::vector<uint64_t>(bits.size(), range));
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_EQ(below[i], philox::below(bits[i], range));
  }
}

/// Checks what may differ by rounding.
template <class Real, class Bits>
void check_close(const CompiledPrelude& prelude, const std::string& type) {
  const Real tolerance = 16 * std::numeric_limits<Real>::epsilon();
  const auto bits = random_bits<Bits>();
  std::vector<Real> open;
  for (const Bits b : bits) open.push_back(philox::open_unit(b));
  const auto same = [&](Real value) { return std::vector<Real>(bits.size(), value); };
  const auto exponential = prelude.map<Real>("ag_exponential_" + type, open, same(Real(1.5)));
  const auto geometric = prelude.map<Real>("ag_geometric_" + type, open, same(Real(0.25)));
  const auto cauchy = prelude.map<Real>("ag_cauchy_" + type, open, same(2), same(3));
  int unequal = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    const auto near = [&](Real got, Real expected) {
      ASSERT_NEAR(got, expected, tolerance * (1 + std::abs(expected))) << type << " " << open[i];
    };
    near(exponential[i], philox::exponential(open[i], Real(1.5)));
    near(cauchy[i], philox::cauchy(open[i], Real(2), Real(3)));
    unequal += geometric[i] != philox::geometric(open[i], Real(0.25)) ? 1 : 0;  // may round across an integer
  }
  EXPECT_LE(unequal, 4);
}

template <class Real, class Bits>
void check_normals(const CompiledPrelude& prelude, const std::string& type) {
  std::vector<Bits> even, odd;
  std::vector<int> which;
  std::vector<Real> expected;
  for (uint64_t counter = 0; counter < 1000; ++counter) {
    const auto words = philox::words(99, counter);
    const auto bits = philox::lanes<Real>(words);
    const auto normals = philox::normals<Real>(words);
    for (size_t k = 0; k < bits.size(); ++k) {
      even.push_back(bits[k & ~size_t{1}]), odd.push_back(bits[k | 1]);
      which.push_back(static_cast<int>(k % 2)), expected.push_back(normals[k]);
    }
  }
  const auto got = prelude.map<Real>("ag_normal_" + type, even, odd, which);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 8 * std::numeric_limits<Real>::epsilon()) << type << " " << i;
}

TEST_P(PreludeRandom, Variates) {
  const CompiledPrelude prelude(variate_functions(), GetParam());
  check_exact<float, uint32_t>(prelude, "f32", "32", {24, 11, 8});
  check_exact<double, uint64_t>(prelude, "f64", "64", {53});
  check_close<float, uint32_t>(prelude, "f32");
  check_close<double, uint64_t>(prelude, "f64");
  check_normals<float, uint32_t>(prelude, "f32");
  check_normals<double, uint64_t>(prelude, "f64");
  const auto certain = prelude.map<float>("ag_log_normal_f32", std::vector<float>{1}, std::vector<float>{2},
                                          std::vector<float>{0});
  EXPECT_NEAR(certain[0], std::exp(2.0F), 1e-6F);
}

TEST_P(PreludeRandom, RowsOfNormals) {
  const CompiledPrelude prelude(
      {{"ag_normal_row_f32", "", {}}, {"ag_normal_row_f64", "", {}}}, GetParam(),
      "void row(float* out, uint64_t seed, uint64_t first, int64_t element, int64_t n) {\n"
      "  ag_normal_row_f32(out, seed, first, element, n);\n}\n"
      "void row_64(double* out, uint64_t seed, uint64_t first, int64_t element, int64_t n) {\n"
      "  ag_normal_row_f64(out, seed, first, element, n);\n}\n");
  const auto row = prelude.symbol<void(float*, uint64_t, uint64_t, int64_t, int64_t)>("row");
  const auto row_64 = prelude.symbol<void(double*, uint64_t, uint64_t, int64_t, int64_t)>("row_64");
  for (const int64_t element : {0, 1, 2, 3, 77})
    for (const int64_t n : {0, 1, 2, 255, 256, 257, 600}) {
      std::vector<float> singles(n + 1, 42);
      std::vector<double> doubles(n + 1, 42);
      row(singles.data(), 5, 9, element, n);
      row_64(doubles.data(), 5, 9, element, n);
      for (int64_t i = 0; i < n; ++i) {
        const auto e = static_cast<uint64_t>(element + i);
        ASSERT_NEAR(singles[i], philox::normals<float>(philox::words(5, 9 + e / 4))[e % 4], 1e-6)
            << element << " " << i;
        ASSERT_NEAR(doubles[i], philox::normals<double>(philox::words(5, 9 + e / 2))[e % 2], 1e-14)
            << element << " " << i;
      }
      ASSERT_EQ(singles[n], 42);
      ASSERT_EQ(doubles[n], 42);
    }
}

std::string isa_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Isas, PreludeRandom, ::testing::ValuesIn(testable_isas()), isa_name);

}  // namespace
}  // namespace antegrad::codegen
