// Conversions and integer ops at the limits of dtypes, and the default dtype: compiled results equal eager's.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include "support/closeness.h"

namespace antegrad {
namespace {

const std::vector<at::ScalarType> kIntegers = {at::kBool,  at::kByte, at::kChar,
                                               at::kShort, at::kInt,  at::kLong};

/// Numbers around the limits of all integer dtypes, and values that no integer can hold.
at::Tensor ends_of_integers(at::ScalarType type) {
  std::vector<double> all = {0.0,   -0.0, 0.5, -0.99,    2.02649212e11, -3000000001.0,     1e20,
                             -1e20, 1e38, NAN, INFINITY, -INFINITY,     9007199254740993.0};
  for (const int bits : {7, 8, 15, 16, 31, 32, 62, 63, 64})
    for (const double by : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 44.0})
      for (const double sign : {1.0, -1.0}) all.push_back(sign * std::ldexp(1.0, bits) + by);
  return at::tensor(all, at::kDouble).to(type);
}

TEST(Conversions, OfFloatsToIntegers) {
  at::NoGradGuard no_grad;
  for (const auto from : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const auto x = ends_of_integers(from);
    const auto convert = [](const at::Tensor& t) {
      std::vector<at::Tensor> out;
      for (const auto to : kIntegers) out.push_back(t.to(to));
      return out;
    };
    const auto eager = convert(x), compiled = compile(convert)(x);
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_TRUE(eager[i].equal(compiled[i]))
          << c10::toString(from) << " to " << c10::toString(kIntegers[i]);
  }
}

TEST(Conversions, OfFloatsToShorterOnes) {
  at::NoGradGuard no_grad;
  const auto convert = [](const at::Tensor& t) -> std::vector<at::Tensor> {
    return {t.to(at::kHalf), t.to(at::kBFloat16), t.to(at::kFloat),
            at::zeros({t.size(0)}, at::kBFloat16).copy_(t).eq(t.to(at::kBFloat16))};
  };
  const auto x =
      at::cat({at::randn({200}, at::kDouble) * 70000, at::randn({200}, at::kDouble) * 1e-7,
               at::tensor({65519.9, 65520.0, 3.4e38, 1e39, 0x1p-25, 0x1.8p-25, 0x1p-133, 0.0, -0.0})});
  const auto eager = convert(x), compiled = compile(convert)(x);
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(test::same_bits(eager[i], compiled[i])) << i;
}

TEST(Conversions, GcdOfTheSmallestIntegers) {
  at::NoGradGuard no_grad;
  for (const auto type : {at::kChar, at::kShort, at::kInt, at::kLong}) {
    const int64_t least = std::numeric_limits<int64_t>::min() >> (64 - 8 * at::elementSize(type));
    const auto a =
        at::tensor({least, least, least, least, int64_t{0}, int64_t{12}, -least - 1}, at::kLong).to(type);
    const auto b =
        at::tensor({int64_t{0}, int64_t{3}, least, int64_t{-6}, least, least, least}, at::kLong).to(type);
    const auto gcd = [](const at::Tensor& x, const at::Tensor& y) { return at::gcd(x, y); };
    EXPECT_TRUE(gcd(a, b).equal(compile(gcd)(a, b))) << c10::toString(type);
  }
}

class DefaultDtypeIs {
 public:
  explicit DefaultDtypeIs(at::ScalarType dtype) { at::set_default_dtype(c10::scalarTypeToTypeMeta(dtype)); }
  ~DefaultDtypeIs() { at::set_default_dtype(was_); }

 private:
  const caffe2::TypeMeta was_ = at::get_default_dtype();
};

TEST(Conversions, DefaultDtypeThatTheFunctionChanges) {
  const auto make = [](const at::Tensor& x) -> std::vector<at::Tensor> {
    const auto before = at::linspace(0, 1, 3);
    const DefaultDtypeIs inside(at::kDouble);
    return {before, at::linspace(0, 1, 3) + at::ones({3}), at::full({2}, 0.5), x.exp(), at::arange(3).add(1)};
  };
  const auto compiled = compile(make);
  const auto x = at::ones({2});
  for (int call = 0; call < 2; ++call) {
    const auto expected = make(x), actual = compiled(x);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(actual[i].scalar_type(), expected[i].scalar_type()) << i;
      EXPECT_TRUE(at::allclose(actual[i], expected[i])) << i;
    }
  }
  const auto divide = compile([](const at::Tensor& x) {
    const DefaultDtypeIs inside(at::kDouble);
    return x / 2;  // integers are divided in the default dtype
  });
  EXPECT_THROW(divide(at::arange(3)), Error);
}

TEST(Conversions, IntegersAreComparedInTheDefaultDtype) {
  at::NoGradGuard no_grad;
  const auto compare = [](const at::Tensor& x) -> std::vector<at::Tensor> {
    auto written = x.clone(), out = at::empty({x.size(0)}, at::kBool);
    written.gt_(16777216.5);
    at::le_out(out, x, 16777216.5);
    return {x.gt(16777216.5),
            x.eq(16777217.0),
            x.lt(257.5),
            x.ne(257.0),
            x.ge(1),
            written,
            out,
            x.mul(1.5),
            x.div(3),
            at::where(x.gt(0), x, 0.5),
            x.sqrt(),
            x.gt(at::scalar_tensor(0.1, at::kFloat))};
  };
  const auto x = at::tensor({int64_t{0}, int64_t{1}, int64_t{256}, int64_t{257}, int64_t{258},
                             int64_t{16777216}, int64_t{16777217}, int64_t{16777218}});
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    const DefaultDtypeIs is(dtype);
    const auto eager = compare(x), compiled = compile(compare)(x);
    for (size_t i = 0; i < eager.size(); ++i) {
      EXPECT_EQ(eager[i].scalar_type(), compiled[i].scalar_type()) << i;
      EXPECT_TRUE(eager[i].isclose(compiled[i], 0, 0, /*equal_nan=*/true).all().item<bool>())
          << i << " with " << c10::toString(dtype);
    }
  }
}

TEST(Conversions, ZerosOfBothSignsAreTwoConstants) {
  at::NoGradGuard no_grad;
  const auto f = [](const at::Tensor& x) {
    return std::vector<at::Tensor>{x.clamp(-0.0, 0.0), x.mul(0.0), x.mul(-0.0)};
  };
  const auto x = at::tensor({1.0f, -1.0f, 0.0f, -0.0f, 2.0f});
  const auto eager = f(x), compiled = compile(f)(x);
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(test::same_bits(eager[i], compiled[i])) << i;
}

/// addcmul() of integers without its factor, and activations that LibTorch has for floats only.
TEST(Conversions, OfIntegersInOpsForFloats) {
  at::NoGradGuard no_grad;
  const auto x = at::arange(-3, 4, at::kLong);
  const auto product = [](const at::Tensor& t) { return at::addcmul(t, t, t); };
  EXPECT_TRUE(product(x).equal(compile(product)(x)));
  EXPECT_ANY_THROW(compile([](const at::Tensor& t) { return at::leaky_relu(t, 0.1); })(x));
  EXPECT_ANY_THROW(compile([](const at::Tensor& t) { return at::hardshrink(t, 1); })(x));
}

TEST(Conversions, ElementsNextToHalves) {
  at::NoGradGuard no_grad;
  const auto next = [](const at::Tensor& x, const at::Tensor& y) { return at::nextafter(x, y); };
  const auto x = at::tensor({0.1f, 1.0f, 0.0f, -2.0f}).to(at::kBFloat16), y = at::full_like(x, INFINITY);
  EXPECT_TRUE(test::same_bits(next(x, y), compile(next)(x, y)));
}

/// mul() of a half type uses a number unrounded, mul_() rounds it to the dtype first.
TEST(Conversions, OfNumbersInProductsInPlace) {
  at::NoGradGuard no_grad;
  for (const auto type : {at::kHalf, at::kBFloat16})
    for (const double number : {1.0 / 3, 1e-8, 0.1, 65520.0}) {
      const auto f = [&](at::Tensor x) {
        auto part = x.clone();
        part.slice(0, 3, 20).mul_(number);
        return std::vector<at::Tensor>{x.mul(number), x.clone().mul_(number), part, x.clone().mul_(257)};
      };
      const auto x = at::linspace(-3, 3, 33).to(type);
      const auto eager = f(x), compiled = compile(f)(x);
      for (size_t i = 0; i < eager.size(); ++i)
        EXPECT_TRUE(test::same_bits(eager[i], compiled[i])) << i << " by " << number;
    }
}

}  // namespace
}  // namespace antegrad
