// Errors of the prelude's functions in units in the last place, over all exponents, against libm in a wider
// type.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "codegen/text/prelude_testing.h"

namespace antegrad::codegen {
namespace {

constexpr double kMaxUlp = 2;

/// Returns the distance in units in the last place of a Real near `expected`; infinity counts as the next
/// power of two.
template <class Real, class Wide>
double ulp_error(Real got, Wide expected) {
  using Limits = std::numeric_limits<Real>;
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) == std::isnan(got) ? 0 : 1e9;
  const Wide beyond = std::ldexp(Wide{1}, Limits::max_exponent);
  const Wide wide = std::isinf(got) ? std::copysign(beyond, Wide(got)) : Wide(got);
  const Wide target = std::abs(expected) > beyond ? std::copysign(beyond, expected) : expected;
  if (std::isinf(expected) != std::isinf(got) && std::isinf(expected)) return 1e9;
  const int exponent =
      target == 0 ? Limits::min_exponent : std::max(std::ilogb(target) + 1, Limits::min_exponent);
  return static_cast<double>(std::abs(wide - target) / std::ldexp(Wide{1}, exponent - Limits::digits));
}

/// Every 4099th float (including NaN), more of moderate size, and special ones. The count is not a multiple
/// of a vector length, so that the scalar tail is tested too.
std::vector<float> float_points() {
  std::vector<float> points;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099)
    points.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const uint32_t sign : {0U, 0x80000000U})
    for (uint32_t bits = 0x37800000; bits < 0x43800000; bits += 521)
      points.push_back(std::bit_cast<float>(bits | sign));
  const float inf = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  for (const float x :
       {0.0F, 1.0F, 2.0F, 0.5F, inf, 0x1.fffffep127F, 0x1p-126F, tiny, 104.0F, 88.72284F, 3.92F, 0.84F})
    for (const float y : {x, -x, std::nextafter(x, 0.0F), std::nextafter(x, inf)}) points.push_back(y);
  points.push_back(std::numeric_limits<float>::quiet_NaN());
  while (points.size() % 16 != 11) points.push_back(0.25F);
  return points;
}

/// Numbers with exponents from low to high and both signs, and special ones.
std::vector<double> double_points(int low, int high, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> points;
  for (int i = 0; i < 300000; ++i) {
    const auto mantissa = random() >> 12,
               exponent = 1023 + low + random() % static_cast<unsigned>(high - low);
    points.push_back(std::bit_cast<double>(mantissa | exponent << 52 | (random() & 1) << 63));
  }
  const double inf = std::numeric_limits<double>::infinity(),
               tiny = std::numeric_limits<double>::denorm_min();
  for (const double x :
       {0.0, 1.0, 2.0, 0.5, inf, 0x1.fffffffffffffp1023, 0x1p-1022, 1e-310, tiny, 709.7827128933841, 745.2})
    for (const double y : {x, -x, std::nextafter(x, 0.0), std::nextafter(x, inf)}) points.push_back(y);
  points.push_back(std::numeric_limits<double>::quiet_NaN());
  return points;
}

struct FloatCase {
  std::string name;
  double (*reference)(double);
};

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

const FloatCase kFloatCases[] = {
    {"exp", std::exp},     {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},
    {"log2", std::log2},   {"log10", std::log10}, {"log1p", std::log1p}, {"sigmoid", sigmoid},
    {"tanh", std::tanh},   {"sinh", std::sinh},   {"cosh", std::cosh},   {"asinh", std::asinh},
    {"acosh", std::acosh}, {"atanh", std::atanh}, {"erf", std::erf},     {"erfc", std::erfc},
    {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},     {"asin", std::asin},
    {"acos", std::acos},   {"atan", std::atan},   {"sqrt", std::sqrt},   {"rsqrt", rsqrt},
};

struct FloatCase2 {
  std::string name;
  double (*reference)(double, double);
};
const FloatCase2 kFloatCases2[] = {{"pow", std::pow}, {"atan2", std::atan2}, {"hypot", std::hypot}};

struct DoubleCase {
  std::string name;
  long double (*reference)(long double);
  int low, high;  ///< exponents
};
long double sigmoid_l(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
long double rsqrt_l(long double x) { return 1 / std::sqrt(x); }

const DoubleCase kDoubleCases[] = {
    {"exp", std::exp, -30, 11},         {"expm1", std::expm1, -60, 11},   {"log", std::log, -1022, 1024},
    {"log", std::log, -2, 2},           {"log1p", std::log1p, -60, 80},   {"sigmoid", sigmoid_l, -20, 11},
    {"tanh", std::tanh, -30, 6},        {"erf", std::erf, -30, 4},        {"sin", std::sin, -30, 30},
    {"cos", std::cos, -30, 30},         {"sin", std::sin, 30, 1024},      {"cos", std::cos, 30, 1024},
    {"tan", std::tan, -30, 30},         {"tan", std::tan, 30, 1024},      {"sin", std::sin, -1, 3},
    {"cos", std::cos, -1, 3},           {"tan", std::tan, -1, 3},         {"rsqrt", rsqrt_l, -1022, 1024},
    {"exp2", std::exp2, -60, 11},       {"log2", std::log2, -1022, 1024}, {"log2", std::log2, -1, 1},
    {"log10", std::log10, -1022, 1024}, {"log10", std::log10, -1, 1},
};
const std::string kVectorised[] = {"exp", "expm1", "log",  "log1p", "sin",
                                   "cos", "tan",   "exp2", "log2",  "log10"};

/// Numbers that are nearly multiples of pi/2: continued fractions of pi, and the closest of all.
std::vector<double> nearly_right_angles() {
  std::vector<double> points;
  for (const double near :
       {3.0, 22.0, 333.0, 355.0, 103993.0, 104348.0, 208341.0, 312689.0, 833719.0, 1146408.0,
        6381956970095103.0 * 0x1p797, 8248251512.0, 428224593349304.0, 5371151992734.0})
    for (const double factor : {0.5, 1.0, 2.0, 4.0})
      points.push_back(near * factor), points.push_back(-near * factor);
  for (int n = 1; n < 20000; ++n) points.push_back(n * 1.57079632679489661923);
  return points;
}

/// Reports the largest error; fails if it exceeds kMaxUlp or a zero has the wrong sign.
template <class Real, class Wide>
void expect_accurate(const std::string& what, const std::vector<Real>& got, const std::vector<Wide>& expected,
                     const std::function<std::string(size_t)>& input) {
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double error = ulp_error(got[i], expected[i]);
    if (expected[i] == 0 && std::signbit(got[i]) != std::signbit(expected[i])) error = 1e9;
    if (error > worst) worst = error, at = i;
  }
  EXPECT_LE(worst, kMaxUlp) << what << " of " << input(at) << " is " << got[at] << " instead of "
                            << expected[at];
  if (std::getenv("PRELUDE_REPORT") != nullptr)
    printf("%-24s %6.3f ulp at %s\n", what.c_str(), worst, input(at).c_str());
}

std::string text_of(double x) {
  char text[64];
  snprintf(text, sizeof text, "%.17g (%a)", x, x);
  return text;
}

class Accuracy : public ::testing::TestWithParam<std::string> {};

TEST_P(Accuracy, Float32) {
  std::vector<Signature> functions;
  for (const auto& c : kFloatCases) functions.push_back({"ag_" + c.name + "_f32", "float", {"float"}});
  const CompiledPrelude prelude(functions, GetParam());
  static const auto points = float_points();
  static std::map<std::string, std::vector<double>> references;
  for (const auto& c : kFloatCases) {
    auto& expected = references[c.name];
    if (expected.empty())
      for (const float x : points) expected.push_back(c.reference(x));
    const auto got = prelude.map<float>("ag_" + c.name + "_f32", points);
    expect_accurate(c.name + "_f32 " + GetParam(), got, expected,
                    [](size_t i) { return text_of(points[i]); });
    EXPECT_TRUE(GetParam() == "x86-64" || prelude.is_vectorised("ag_" + c.name + "_f32"))
        << c.name << GetParam();
  }
}

TEST_P(Accuracy, Float32OfTwo) {
  std::vector<Signature> functions;
  for (const auto& c : kFloatCases2)
    functions.push_back({"ag_" + c.name + "_f32", "float", {"float", "float"}});
  const CompiledPrelude prelude(functions, GetParam());
  const auto a = float_points();
  auto b = a;
  std::shuffle(b.begin(), b.end(), std::mt19937(1));
  std::vector<float> left, right;
  const std::vector<float> special(a.end() - 60, a.end());
  for (size_t i = 0; i < a.size(); i += 3) left.push_back(a[i]), right.push_back(b[i]);
  for (size_t i = 0; i < a.size(); i += 5)  // powers of moderate size
    left.push_back(a[i]), right.push_back(static_cast<float>(static_cast<int>(i % 801) - 400) / 16);
  for (const float x : special)
    for (const float y : special) left.push_back(x), right.push_back(y);
  for (const auto& c : kFloatCases2) {
    std::vector<double> expected;
    for (size_t i = 0; i < left.size(); ++i) expected.push_back(c.reference(left[i], right[i]));
    const auto got = prelude.map<float>("ag_" + c.name + "_f32", left, right);
    expect_accurate(c.name + "_f32 " + GetParam(), got, expected,
                    [&](size_t i) { return text_of(left[i]) + ", " + text_of(right[i]); });
  }
}

// Conversions of 16-bit floats and other helpers.
TEST_P(Accuracy, HelpersVectorise) {
  const std::string f32 = "float", u16 = "uint16_t", u32 = "uint32_t", i32 = "int32_t";
  const std::vector<Signature> functions = {
      {"ag_f32_to_bf16", u16, {f32}},        {"ag_bf16_to_f32", f32, {u16}},
      {"ag_f32_to_f16", u16, {f32}},         {"ag_f16_to_f32", f32, {u16}},
      {"ag_order_max_f32", i32, {f32}},      {"ag_from_order_f32", f32, {i32}},
      {"ag_nan_max_f32", f32, {f32, f32}},   {"ag_floor_f32", f32, {f32}},
      {"ag_floor_div_i32", i32, {i32, i32}}, {"ag_open_unit_f32", f32, {u32}}};
  const CompiledPrelude prelude(functions, GetParam());
  for (const auto& function : functions)
    EXPECT_TRUE(GetParam() == "x86-64" || prelude.is_vectorised(function.name)) << function.name;
}

TEST_P(Accuracy, Float64) {
  std::set<std::string> names;
  for (const auto& c : kDoubleCases) names.insert("ag_" + c.name + "_f64");
  std::vector<Signature> functions;
  for (const auto& name : names) functions.push_back({name, "double", {"double"}});
  const CompiledPrelude prelude(functions, GetParam());
  for (const auto& c : kDoubleCases) {
    auto points = double_points(c.low, c.high, 1);
    if (GetParam() != "x86-64")  // libm, which is called there, is off by up to 262 units
      for (const double x : nearly_right_angles()) points.push_back(x);
    for (int k = -30; k < 30; ++k) points.push_back(std::pow(10.0, k)), points.push_back(std::ldexp(1.0, k));
    std::vector<long double> expected;
    for (const double x : points) expected.push_back(c.reference(x));
    const auto got = prelude.map<double>("ag_" + c.name + "_f64", points);
    expect_accurate(c.name + "_f64 " + GetParam(), got, expected,
                    [&](size_t i) { return text_of(points[i]); });
  }
  for (const auto& name : kVectorised)
    EXPECT_TRUE(GetParam() == "x86-64" || prelude.is_vectorised("ag_" + name + "_f64")) << name << GetParam();
}

TEST_P(Accuracy, PowersOfFloat64) {
  const CompiledPrelude prelude({{"ag_pow_f64", "double", {"double", "double"}}}, GetParam());
  std::vector<double> bases, exponents;
  const auto add = [&](double x, double y) { bases.push_back(x), exponents.push_back(y); };
  const auto any = double_points(-1022, 1024, 1), near = double_points(-3, 3, 2),
             nearer = double_points(-30, -1, 3);
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> part(-1, 1);
  for (size_t i = 0; i < any.size(); i += 2) {
    const double log = std::log(std::abs(any[i]));
    add(std::abs(any[i]), log == 0 ? 1 : 745 * part(random) / log);
    add(std::abs(near[i]), near[i + 1] * 16);
    add(1 + nearer[i], 700 * part(random) / nearer[i]);
    add(near[i], static_cast<double>(static_cast<int>(random() % 41) - 20));
  }
  const std::vector<double> special(any.end() - 60, any.end());
  for (const double x : special)
    for (const double y : special) add(x, y);
  std::vector<long double> expected;
  for (size_t i = 0; i < bases.size(); ++i)
    expected.push_back(std::pow(static_cast<long double>(bases[i]), static_cast<long double>(exponents[i])));
  expect_accurate("pow_f64 " + GetParam(), prelude.map<double>("ag_pow_f64", bases, exponents), expected,
                  [&](size_t i) { return text_of(bases[i]) + ", " + text_of(exponents[i]); });
  EXPECT_TRUE(GetParam() == "x86-64" || prelude.is_vectorised("ag_pow_f64")) << GetParam();
}

std::string isa_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Isas, Accuracy, ::testing::ValuesIn(testable_isas()), isa_name);

}  // namespace
}  // namespace antegrad::codegen
