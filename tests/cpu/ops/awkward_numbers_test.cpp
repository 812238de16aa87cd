// Numbers that a tensor's dtype cannot hold, and their neighbours: compiled ops against eager's.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cpu/ops/number_ops.h"
#include "support/closeness.h"

namespace antegrad {
namespace {

using test::Within;

const std::vector<at::ScalarType> kTypes = {at::kBool, at::kByte, at::kChar,     at::kShort, at::kInt,
                                            at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

constexpr int64_t k2To24 = int64_t{1} << 24, k2To53 = int64_t{1} << 53;

const std::vector<at::Scalar> kNumbers = {0.1,
                                          1.0 / 3,
                                          1e-8,
                                          0.5,
                                          -0.0,
                                          2.5,
                                          -2.3,
                                          65519.9,
                                          65520.0,
                                          1e38,
                                          6.8e38,
                                          INFINITY,
                                          -INFINITY,
                                          NAN,
                                          0,
                                          1,
                                          -1,
                                          3,
                                          300,
                                          -300,
                                          2049,
                                          k2To24 + 1,
                                          k2To53 + 1,
                                          1e-45,
                                          5e-324,
                                          (int64_t{1} << 60) + (int64_t{1} << 36) + 1,
                                          -(int64_t{1} << 62) - 1};

/// The numbers, their neighbours in the dtype, and ordinary values; a multiple of eager's vector length.
at::Tensor values(at::ScalarType type) {
  std::vector<double> all;
  for (const auto& s : kNumbers) {
    all.push_back(s.toDouble());
    all.push_back(-s.toDouble());
  }
  for (int i = 0; i < 20; ++i) all.push_back((i - 9) * 0.37);
  for (double x : {127.0, 128.0, -128.0, 255.0, 256.0, 32767.0, -32768.0, 2147483647.0, 20.0, 65504.0, 2048.0,
                   257.0, 16777216.0, 0.10009765625, 3.3895e38})
    all.push_back(x);
  auto wide = at::tensor(all, at::kDouble);
  auto cast = at::isFloatingType(type)
                  ? wide.to(type)
                  : at::nan_to_num(wide, 0, 0, 0).clamp(-9e18, 9e18).to(at::kLong).to(type);
  if (at::isFloatingType(type)) {
    const auto up = at::full_like(cast, INFINITY);
    cast = at::cat({cast, at::nextafter(cast, up), at::nextafter(cast, -up)});
  }
  constexpr int64_t kWhole = 512;
  return cast.repeat({(kWhole + cast.numel() - 1) / cast.numel()}).slice(0, 0, kWhole).contiguous();
}

double largest(at::ScalarType type) {
  switch (type) {
    case at::kHalf:
      return 65504;
    case at::kDouble:
      return std::numeric_limits<double>::max();
    default:
      return 3e38;
  }
}

/// Compares bits, except that all NaNs are equal.
at::Tensor same_elements(const at::Tensor& a, const at::Tensor& b) {
  if (!at::isFloatingType(a.scalar_type())) return a.eq(b);
  const auto signs = at::signbit(a).eq(at::signbit(b));
  return a.eq(b).logical_and(signs).logical_or(a.isnan().logical_and(b.isnan()));
}

/// Whether results are within some units of their dtype, plus `whole`; `scale` is the magnitude of what they
/// are computed from.
at::Tensor near(const at::Tensor& eager, const at::Tensor& compiled, const at::Tensor& scale, double whole) {
  const auto a = eager.to(at::kDouble), b = compiled.to(at::kDouble);
  const double units = 4 * test::epsilon_of(eager.scalar_type());
  return a.sub(b).abs().le(scale.mul(units).add(4 * test::smallest_of(eager.scalar_type()) + whole));
}

/// Returns where results are further apart than allowed; `terms` is the magnitude of what they are computed
/// from.
at::Tensor wrong_elements(const at::Tensor& eager, const at::Tensor& compiled, Within within,
                          const at::Tensor& terms) {
  auto right = same_elements(eager, compiled);
  if (!at::isFloatingType(eager.scalar_type())) return right.logical_not();
  const auto size = eager.to(at::kDouble).abs();
  if (within == Within::Numbers) right = right.logical_or(eager.eq(compiled));
  if (within == Within::Remainder) right = right.logical_or(eager.isnan().logical_and(compiled.isfinite()));
  if (within == Within::Roundings) right = right.logical_or(near(eager, compiled, size, 0));
  if (within == Within::Terms)  // near overflow, the result depends on fusion
    right = right.logical_or(near(eager, compiled, at::maximum(size, terms), 0))
                .logical_or(terms.gt(0.25 * largest(eager.scalar_type())));
  if (within == Within::Loops)
    right = right.logical_or(near(eager, compiled, size, 0)).logical_or(terms.isnan());
  return right.logical_not();
}

struct Call {
  std::string name;
  Within within;
  std::function<at::Tensor(const std::vector<at::Tensor>&)> run;
  at::Tensor terms;
};

class AwkwardNumbers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::runs_libtorch_kernels()) GTEST_SKIP() << "LibTorch's kernels are what this compares with";
  }

  /// Adds a call, unless eager refuses it.
  void add(Call call, const std::vector<at::Tensor>& inputs) {
    try {
      expected_.push_back(call.run(inputs));
      calls_.push_back(std::move(call));
    } catch (const std::exception&) {  // eager does not take this dtype
    }
  }

  /// Compiles many ops per function, so that there are few functions.
  void check(const std::vector<at::Tensor>& inputs) {
    constexpr size_t kPerFunction = 120;
    for (size_t first = 0; first < calls_.size(); first += kPerFunction) {
      const auto last = std::min(first + kPerFunction, calls_.size());
      auto compiled = compile([&](const std::vector<at::Tensor>& tensors) {
        std::vector<at::Tensor> out;
        for (size_t i = first; i < last; ++i) out.push_back(calls_[i].run(tensors));
        return out;
      });
      const auto results = compiled(inputs);
      for (size_t i = first; i < last; ++i) compare(calls_[i], expected_[i], results[i - first], inputs);
    }
    calls_.clear();
    expected_.clear();
  }

  void check_numbers(size_t every);
  void check_elements(size_t every);

 private:
  void compare(const Call& call, const at::Tensor& eager, const at::Tensor& compiled,
               const std::vector<at::Tensor>& inputs) {
    ASSERT_EQ(eager.scalar_type(), compiled.scalar_type()) << call.name;
    ASSERT_EQ(eager.sizes(), compiled.sizes()) << call.name;
    const auto wrong = wrong_elements(eager, compiled, call.within, call.terms);
    const auto count = wrong.sum().item<int64_t>();
    if (count == 0) return;
    const auto at = wrong.nonzero()[0][0].item<int64_t>();
    std::string operands;
    for (const auto& input : inputs)
      operands += c10::str(" ", input.dim() == 0     ? input.item<double>()
                                : at < input.numel() ? input[at].item<double>()
                                                     : 0.0);
    ADD_FAILURE() << call.name << ": " << count << " of " << eager.numel() << " elements differ; at " << at
                  << " of" << operands << ": eager " << eager[at].item<double>() << ", compiled "
                  << compiled[at].item<double>();
  }

  std::vector<Call> calls_;
  std::vector<at::Tensor> expected_;
};

std::string text(const at::Scalar& s) {
  return s.isIntegral(true) ? c10::str(s.toLong()) : c10::str(s.toDouble());
}

/// All ops with all numbers take minutes (`make nightly`): takes one call in `every`, which differ from dtype
/// to dtype.
class Some {
 public:
  explicit Some(size_t every) : every_(every) {}
  bool takes() { return next_++ % every_ == 0; }

 private:
  size_t every_, next_ = 0;
};
constexpr size_t kEvery = 23;  // coprime to the number of ops and of numbers

at::Tensor size_of(const at::Tensor& x) { return x.to(at::kDouble).abs(); }

void AwkwardNumbers::check_numbers(size_t every) {
  at::NoGradGuard no_grad;
  Some some(every);
  for (const auto type : kTypes) {
    const auto x = values(type), y = x.roll(37);
    for (const auto& s : kNumbers)
      for (const auto& op : test::ops_with_numbers()) {
        if (!some.takes()) continue;
        const auto factor = std::max(1.0, std::fabs(s.toDouble()));
        add({c10::str(op.name, " of ", c10::toString(type), " and ", text(s)), op.within,
             [&op, s](const std::vector<at::Tensor>& t) { return op.run(t[0], t[1], s); },
             at::maximum(size_of(x), size_of(y).mul(factor).mul(size_of(y).clamp_min(1)))},
            {x, y});
      }
    check({x, y});
  }
}

TEST_F(AwkwardNumbers, OfTensorsAndNumbers) { check_numbers(kEvery); }
TEST_F(AwkwardNumbers, DISABLED_OfTensorsAndAllNumbers) { check_numbers(1); }

void AwkwardNumbers::check_elements(size_t every) {
  at::NoGradGuard no_grad;
  Some some(every);
  for (const auto type : kTypes)
    for (const auto other : {at::kDouble, at::kFloat, at::kBFloat16, at::kLong, at::kByte}) {
      const auto x = values(type);
      for (const auto& s : kNumbers) {
        if (s.isFloatingPoint() && !at::isFloatingType(other)) continue;
        const auto y = at::scalar_tensor(s, at::isFloatingType(other) ? at::kDouble : at::kLong).to(other);
        const auto terms = size_of(x).mul(std::max(1.0, std::fabs(s.toDouble())));
        for (const auto& op : test::ops_of_two_tensors()) {
          const auto name =
              c10::str(op.name, " of ", c10::toString(type), " and ", c10::toString(other), " ", text(s));
          const auto first = [&op, y](const std::vector<at::Tensor>& t) { return op.run(t[0], y.clone()); };
          const auto second = [&op, y](const std::vector<at::Tensor>& t) { return op.run(y.clone(), t[0]); };
          if (some.takes()) add({name, op.within, first, terms}, {x});
          if (some.takes()) add({name + ", swapped", op.within, second, terms}, {x});
        }
      }
      check({x});
    }
}

TEST_F(AwkwardNumbers, OfTensorsAndSingleElements) { check_elements(211); }
TEST_F(AwkwardNumbers, DISABLED_OfTensorsAndAllSingleElements) { check_elements(1); }

TEST_F(AwkwardNumbers, OfTensorsOfTwoTypes) {
  at::NoGradGuard no_grad;
  Some some(11);
  for (const auto type : kTypes)
    for (const auto other : kTypes) {
      const auto x = values(type), y = values(other).roll(37);
      for (const auto& op : test::ops_of_two_tensors())
        if (some.takes())
          add({c10::str(op.name, " of ", c10::toString(type), " and ", c10::toString(other)), op.within,
               [&op](const std::vector<at::Tensor>& t) { return op.run(t[0], t[1]); },
               at::maximum(size_of(x), size_of(y))},
              {x, y});
      check({x, y});
    }
}

/// Half-precision values that are computed in the same kernel, and therefore as f32: functions with jumps
/// must jump where they do for the stored values.
TEST_F(AwkwardNumbers, OfComputedShortFloats) {
  at::NoGradGuard no_grad;
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const auto few = at::arange(512, at::kFloat).mul(0.0137).sub(1.3);
    const auto x = at::cat({few.to(type), values(type)}), y = x.roll(37);
    for (const auto& op : test::jumping_ops())
      for (const double factor : {100.0, 1.0 / 3, 1e-7})
        add({c10::str(op.name, " of ", c10::toString(type), " times ", factor), op.within,
             [&op, factor](const std::vector<at::Tensor>& t) {
               return op.run(t[0] * factor, t[1] * (factor < 1 ? 0.7 : 30));
             },
             size_of(x)},
            {x, y});
    check({x, y});
  }
}

/// What eager refuses at run time, such as a number that a dtype cannot hold, is refused compiled too.
TEST_F(AwkwardNumbers, ThatEagerRefusesAreRefused) {
  at::NoGradGuard no_grad;
  Some some(29);
  size_t count = 0;
  for (const auto type : {at::kByte, at::kShort, at::kHalf, at::kBFloat16, at::kFloat}) {
    const auto x = values(type), y = x.roll(37);
    for (const auto& s : kNumbers)
      for (const auto& op : test::ops_with_numbers()) {
        const auto run = [&op, &s](const std::vector<at::Tensor>& t) { return op.run(t[0], t[1], s); };
        bool is_refused = false;
        try {
          run({x, y});
        } catch (const std::exception&) {
          is_refused = true;
        }
        if (!is_refused || !some.takes()) continue;
        ++count;
        EXPECT_ANY_THROW(compile(run)(std::vector<at::Tensor>{x, y}))
            << op.name << " of " << c10::toString(type) << " and " << text(s);
      }
  }
  EXPECT_GE(count, 10u);
}

}  // namespace
}  // namespace antegrad
