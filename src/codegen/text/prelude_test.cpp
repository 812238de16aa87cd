// The prelude's texts, and the functions with exact results: conversions, selections, integers, random bits.
#include "codegen/text/prelude.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "antegrad/error.h"
#include "codegen/text/prelude_testing.h"
#include "util/philox.h"

namespace antegrad::codegen {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << what << ", element " << i;
}

// --- texts

TEST(PreludeText, BlocksFollowWhatTheyUse) {
  std::set<std::string> names;
  for (size_t i = 0; i < prelude_blocks().size(); ++i) {
    const auto& block = prelude_blocks()[i];
    EXPECT_EQ(block.text.find('$'), std::string::npos) << block.text;
    for (const auto& name : block.names) EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    for (const int use : block.uses) EXPECT_LT(use, static_cast<int>(i));
  }
}

TEST(PreludeText, HoldsExactlyWhatIsNeeded) {
  const auto text = prelude_for({"ag_tanh_f32"});
  EXPECT_NE(text.find("ag_exp_normal_f32("), std::string::npos);
  EXPECT_LT(text.find("float ag_exp_tail_f32("), text.find("float ag_tanh_f32("));
  for (const char* other : {"ag_exp_f32", "ag_sigmoid_f32", "f64", "ag_times_pow2"})
    EXPECT_EQ(text.find(other), std::string::npos) << other;
}

TEST(PreludeText, DoesNotDependOnTheOrderOfNames) {
  EXPECT_EQ(prelude_for({"ag_exp_f32", "ag_log_f32"}),
            prelude_for({"ag_log_f32", "ag_exp_f32", "ag_log_f32"}));
}

TEST(PreludeText, UnknownNamesThrow) {
  EXPECT_FALSE(prelude_has("ag_exp_i64"));
  EXPECT_TRUE(prelude_has("ag_exp_f32"));
  EXPECT_THROW(prelude_for({"ag_exp_i64"}), Error);
}

TEST(PreludeText, CompilesWithoutWarnings) {
  std::vector<std::string> names;
  for (const auto& block : prelude_blocks())
    names.insert(names.end(), block.names.begin(), block.names.end());
  const auto file =
      std::filesystem::temp_directory_path() / ("antegrad-prelude-" + std::to_string(getpid()) + ".c");
  std::ofstream(file) << prelude_for(names);
  const std::string command =
      "cc -std=gnu11 -Wall -Wextra -Wno-type-limits -Wno-unused-function -Werror -O0 "
      "-fsyntax-only " +
      file.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(file);
}

// --- numbers

TEST(PreludeHalf, Bfloat16) {
  const CompiledPrelude prelude(
      {{"ag_bf16_to_f32", "float", {"uint16_t"}}, {"ag_f32_to_bf16", "uint16_t", {"float"}}},
      testable_isas().back());
  std::vector<float> points = {kNaN,  -kNaN,       kInf,        -kInf,           0.0F,
                               -0.0F, 1.00390625F, 1.01171875F, 0x1.fffffep127F, 1e-45F};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65537 / 3)
    points.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  std::vector<uint16_t> expected;
  for (const float x : points) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t lower = bits & 0xffff, upper = bits >> 16;
    expected.push_back(std::isnan(x) ? 0x7fc0
                                     : upper + (lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1)));
  }
  expect_same(prelude.map<uint16_t>("ag_f32_to_bf16", points), expected, "f32 to bf16");
  for (const float x :
       prelude.map<float>("ag_bf16_to_f32", std::vector<uint16_t>{0x3f80, 0x8000, 0x7f80, 0x0001}))
    EXPECT_EQ(std::bit_cast<uint32_t>(x) & 0xffff, 0U);
}

/// Returns the value of a half by definition.
float value_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float magnitude = exponent == 31  ? (mantissa == 0 ? kInf : kNaN)
                          : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                          : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return bits >> 15 == 1 ? -magnitude : magnitude;
}

TEST(PreludeHalf, Float16) {
  const CompiledPrelude prelude(
      {{"ag_f16_to_f32", "float", {"uint16_t"}}, {"ag_f32_to_f16", "uint16_t", {"float"}}},
      testable_isas().back());
  std::vector<uint16_t> halves;
  for (int bits = 0; bits < 65536; ++bits) halves.push_back(static_cast<uint16_t>(bits));
  const auto values = prelude.map<float>("ag_f16_to_f32", halves);
  for (const uint16_t bits : halves)
    ASSERT_TRUE(values[bits] == value_of_half(bits) ||
                std::isnan(values[bits]) == std::isnan(value_of_half(bits)));
  // Every number, the midpoint to the next one and the neighbours of the midpoint round correctly.
  std::vector<float> points;
  std::vector<uint16_t> expected;
  for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
    const float value = value_of_half(bits), next = bits == 0x7bff ? 65536.0F : value_of_half(bits + 1);
    const float middle = (value + next) / 2;
    const uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const auto& [x, half] : {std::pair{value, bits},
                                  {std::nextafter(middle, 0.0F), bits},
                                  {middle, even},
                                  {std::nextafter(middle, kInf), static_cast<uint16_t>(bits + 1)}}) {
      points.insert(points.end(), {x, -x});
      expected.insert(expected.end(), {half, static_cast<uint16_t>(half | 0x8000)});
    }
  }
  points.insert(points.end(), {kInf, -kInf, kNaN, 1e10F, 1e-30F});
  expected.insert(expected.end(), {0x7c00, 0xfc00, 0x7e00, 0x7c00, 0});
  expect_same(prelude.map<uint16_t>("ag_f32_to_f16", points), expected, "f32 to f16");
}

TEST(PreludeSelect, ZerosAndNaNs) {
  const std::vector<std::string> names = {"nan_max",   "nan_min",   "fmax",     "fmin",
                                          "clamp_min", "remainder", "floor_div"};
  std::vector<Signature> functions;
  for (const auto& name : names) functions.push_back({"ag_" + name + "_f32", "float", {"float", "float"}});
  const CompiledPrelude prelude(functions, testable_isas().back());
  const auto check = [&](const std::string& name, float a, float b, float expected) {
    const float got =
        prelude.map<float>("ag_" + name + "_f32", std::vector<float>{a}, std::vector<float>{b})[0];
    const bool same =
        std::isnan(expected) ? std::isnan(got) : std::bit_cast<int>(got) == std::bit_cast<int>(expected);
    EXPECT_TRUE(same) << name << " of " << a << " and " << b << " is " << got << ", expected " << expected;
  };
  // As in LibTorch, including the sign of zero.
  for (const char* name : {"nan_max", "nan_min"}) {
    check(name, -0.0F, 0.0F, 0.0F), check(name, 0.0F, -0.0F, -0.0F);
    check(name, kNaN, 1, kNaN), check(name, 1, kNaN, kNaN);
  }
  for (const char* name : {"fmax", "fmin"}) {
    check(name, -0.0F, 0.0F, -0.0F), check(name, 0.0F, -0.0F, 0.0F);
    check(name, kNaN, 1, 1), check(name, 1, kNaN, 1), check(name, kNaN, kNaN, kNaN);
  }
  check("nan_max", 1, 2, 2), check("nan_min", 1, 2, 1), check("fmax", -1, -kInf, -1),
      check("fmin", -1, -kInf, -kInf);
  check("clamp_min", -0.0F, 0.0F, -0.0F), check("clamp_min", kNaN, 0, kNaN),
      check("clamp_min", 0, kNaN, kNaN);
  check("remainder", -1, 3, 2), check("remainder", 1, -3, -2), check("remainder", 5.5F, 2, 1.5F);
  check("remainder", 3, 0, kNaN), check("remainder", -1, kInf, kInf), check("remainder", -0.0F, 3, -0.0F);
  check("floor_div", -1, 3, -1), check("floor_div", 7, 2, 3), check("floor_div", 1, 0, kInf);
  check("floor_div", 1, 0.1F, 9), check("floor_div", -0.0F, 3, -0.0F), check("floor_div", kInf, 2, kNaN);
}

TEST(PreludeRound, TiesToEven) {
  std::vector<Signature> functions;
  for (const char* name : {"ag_round_even_f32", "ag_floor_f32", "ag_ceil_f32", "ag_trunc_f32"})
    functions.push_back({name, "float", {"float"}});
  std::vector<float> points = {kInf,       -kInf,   0.0F,  -0.0F,  0.49999997F,
                               8388607.5F, 8388609, 1e30F, -1e30F, 4194303.8F};
  for (int i = -64; i <= 64; ++i) points.push_back(static_cast<float>(i) / 8);
  for (const auto& isa : testable_isas()) {
    const CompiledPrelude prelude(functions, isa);
    const auto check = [&](const std::string& name, float (*reference)(float)) {
      const auto got = prelude.map<float>(name, points);
      for (size_t i = 0; i < points.size(); ++i)
        EXPECT_EQ(std::bit_cast<int>(got[i]), std::bit_cast<int>(reference(points[i])))
            << isa << name << points[i];
      EXPECT_TRUE(std::isnan(prelude.map<float>(name, std::vector<float>{kNaN})[0]));
    };
    check("ag_round_even_f32", std::nearbyint), check("ag_floor_f32", std::floor);
    check("ag_ceil_f32", std::ceil), check("ag_trunc_f32", std::trunc);
  }
}

template <class Real, class Order>
void check_order(const CompiledPrelude& prelude, const std::string& type) {
  const Real inf = std::numeric_limits<Real>::infinity(), tiny = std::numeric_limits<Real>::denorm_min();
  const std::vector<Real> ascending = {
      -inf, std::numeric_limits<Real>::lowest(), -1, -tiny, -Real(0), 0, tiny, Real(0.5),
      1,    std::numeric_limits<Real>::max(),    inf};
  for (const std::string direction : {"max", "min"}) {
    const auto order = prelude.map<Order>("ag_order_" + direction + "_" + type, ascending);
    for (size_t i = 1; i < order.size(); ++i) EXPECT_LT(order[i - 1], order[i]);
    const auto back = prelude.map<Real>("ag_from_order_" + type, order);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(back[i], ascending[i]);
      EXPECT_EQ(std::signbit(back[i]), std::signbit(ascending[i]));
    }
    const std::vector<Real> nans = {std::numeric_limits<Real>::quiet_NaN(),
                                    -std::numeric_limits<Real>::quiet_NaN()};
    for (const Order nan : prelude.map<Order>("ag_order_" + direction + "_" + type, nans)) {
      EXPECT_TRUE(direction == "max" ? nan > order.back() : nan < order.front());
      EXPECT_TRUE(std::isnan(prelude.map<Real>("ag_from_order_" + type, std::vector<Order>{nan})[0]));
    }
  }
}

TEST(PreludeOrder, IsThatOfNumbers) {
  const CompiledPrelude prelude({{"ag_order_max_f32", "int32_t", {"float"}},
                                 {"ag_order_min_f32", "int32_t", {"float"}},
                                 {"ag_from_order_f32", "float", {"int32_t"}},
                                 {"ag_order_max_f64", "int64_t", {"double"}},
                                 {"ag_order_min_f64", "int64_t", {"double"}},
                                 {"ag_from_order_f64", "double", {"int64_t"}}},
                                testable_isas().back());
  check_order<float, int32_t>(prelude, "f32");
  check_order<double, int64_t>(prelude, "f64");
}

TEST(PreludeSpecial, RareFunctions) {
  std::vector<Signature> functions;
  for (const char* name : {"ag_erfinv_f64", "ag_digamma_f64", "ag_i0_f64", "ag_lgamma_f64"})
    functions.push_back({name, "double", {"double"}});
  const CompiledPrelude prelude(functions, testable_isas().back());
  const auto value = [&](const std::string& name, double x) {
    return prelude.map<double>("ag_" + name + "_f64", std::vector<double>{x})[0];
  };
  for (double y = -4; y <= 4; y += 0.25)
    EXPECT_NEAR(value("erfinv", std::erf(y)), y, 1e-15 + 1e-16 * std::exp(y * y)) << y;
  EXPECT_EQ(value("erfinv", 1), kInf);
  EXPECT_EQ(value("erfinv", -1), -kInf);
  EXPECT_TRUE(std::isnan(value("erfinv", 1.5)));
  EXPECT_TRUE(std::signbit(value("erfinv", -0.0)));
  EXPECT_NEAR(value("digamma", 1), -0.57721566490153286, 1e-15);
  EXPECT_NEAR(value("digamma", 0.5), -1.9635100260214235, 1e-15);
  EXPECT_NEAR(value("digamma", -0.5), 0.03648997397857652, 1e-15);
  EXPECT_NEAR(value("digamma", 1e6), 13.815510057964191, 1e-14);
  EXPECT_EQ(value("digamma", 0.0), -kInf);
  EXPECT_EQ(value("digamma", -0.0), kInf);
  EXPECT_TRUE(std::isnan(value("digamma", -3)));
  for (double x = -30; x <= 30; x += 0.5) {
    const double expected = std::cyl_bessel_i(0, std::abs(x));
    EXPECT_NEAR(value("i0", x), expected, 1e-14 * expected) << x;
  }
  EXPECT_EQ(value("i0", std::numeric_limits<double>::max()), kInf);
  EXPECT_EQ(value("lgamma", 0.75), std::lgamma(0.75));
}

// --- integers

__extension__ using Wide = __int128;

template <class T>
T wrapped_power(T base, T exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 == 0 ? 1 : T(-1)) : 0;
  uint64_t result = 1;
  for (T i = 0; i < exponent; ++i) result *= static_cast<uint64_t>(base);
  return static_cast<T>(result);
}

template <class T>
void check_integers(const std::string& type, const std::string& c_type) {
  const std::vector<std::string> names = {"add",         "sub",       "mul", "trunc_div", "floor_div",
                                          "fmod",        "remainder", "pow", "gcd",       "shift_left",
                                          "shift_right", "nan_max",   "fmin"};
  std::vector<Signature> functions;
  for (const auto& name : names) functions.push_back({"ag_" + name + "_" + type, c_type, {c_type, c_type}});
  const CompiledPrelude prelude(functions, testable_isas().back());
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {
      0, 1, 2, 3, 7, 10, T(-1), T(-2), T(-3), T(-7), Limits::max(), Limits::min(), T(Limits::max() - 1)};
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<T>(random() >> random() % 64));
  std::vector<T> left, right;
  for (const T a : values)
    for (const T b : values) left.push_back(a), right.push_back(b);
  const auto check = [&](const std::string& name, auto reference) {
    const auto got = prelude.map<T>("ag_" + name + "_" + type, left, right);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], static_cast<T>(reference(Wide{left[i]}, Wide{right[i]})))
          << name << "_" << type << " of " << +left[i] << " and " << +right[i];
  };
  check("shift_left",
        [](Wide a, Wide b) { return b < 0 || b >= 8 * Wide{sizeof(T)} ? 0 : a * (Wide{1} << b); });
  check("shift_right",
        [](Wide a, Wide b) { return b < 0 || b >= 8 * Wide{sizeof(T)} ? (a < 0 ? -1 : 0) : a >> b; });
  check("nan_max", [](Wide a, Wide b) { return a > b ? a : b; });
  check("fmin", [](Wide a, Wide b) { return a < b ? a : b; });
  check("add", [](Wide a, Wide b) { return a + b; });
  check("sub", [](Wide a, Wide b) { return a - b; });
  check("mul", [](Wide a, Wide b) { return a * b; });
  check("trunc_div", [](Wide a, Wide b) { return b == 0 ? 0 : a / b; });
  check("fmod", [](Wide a, Wide b) { return b == 0 ? 0 : a % b; });
  check("floor_div", [](Wide a, Wide b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); });
  check("remainder", [](Wide a, Wide b) { return b == 0 ? 0 : (a % b + b) % b; });
  check("gcd", [](Wide a, Wide b) {
    // The magnitude of the smallest integer overflows and stays as it is.
    for (a = T(a < 0 ? -a : a), b = T(b < 0 ? -b : b); a != 0;) b = std::exchange(a, b % a);
    return b;
  });
  for (size_t i = 0; i < right.size(); ++i) right[i] = static_cast<T>(static_cast<int>(i % 130) - 4);
  check("pow", [](Wide a, Wide b) { return Wide{wrapped_power(static_cast<T>(a), static_cast<T>(b))}; });
}

TEST(PreludeInteger, WrapsAround) {
  check_integers<int64_t>("i64", "int64_t");
  check_integers<int32_t>("i32", "int32_t");
  check_integers<int16_t>("i16", "int16_t");
  check_integers<int8_t>("i8", "int8_t");
  check_integers<uint8_t>("u8", "uint8_t");
}

}  // namespace
}  // namespace antegrad::codegen
