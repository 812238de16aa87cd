// Kinds of writes: replaced and resized storages, out=, foreach and indexed writes, dtypes.
#include "support/against_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto one_matrix() { return std::tuple(torch::randn({3, 4})); }
auto two_matrices() { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4})); }

TEST(Writes, SetToATensorMadeInside) {  // ALI-17
  against_eager(
      [](const Tensor& a) {
        auto made = a * 2;
        a.set_(made);
        return made + 1;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto made = torch::ones({5});
        a.set_(made);
        a.mul_(3);
        return a.sum();
      },
      one_matrix);
}

TEST(Writes, SetToAnotherInputThatIsThenChanged) {  // ALI-18
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.set_(b);
        b.mul_(2);
        return a + b;
      },
      two_matrices, {.call_again = false});
}

TEST(Writes, EmptyInputIsResizedAndFilled) {  // ALI-19
  auto make = [] { return std::tuple(torch::empty({0}), torch::randn({3, 4})); };
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.resize_({3, 4});
        a.copy_(b);
        return a * 2;
      },
      make);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        auto out = a;
        at::add_out(out, b, b);
        return a.t();
      },
      make);
}

TEST(Writes, InputIsEmptiedAfterItsLastUse) {  // ALI-20
  auto empties = [](const Tensor& a) {
    auto twice = a * 2;
    a.resize_({0});
    return twice;
  };
  against_eager(empties, one_matrix);
  auto compiled = compile(empties);
  auto x = torch::randn({3});
  compiled(x);
  EXPECT_EQ(x.numel(), 0);
  EXPECT_EQ(count(compiled.signature(), "write"), 0U) << compiled.signature();
}

TEST(Writes, ManyKindsOfWrites) {  // ALI-04
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        at::_foreach_add_({a, b}, 1);
        at::_foreach_mul_({a, b}, 2.0);
        return a - b;
      },
      two_matrices);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        auto out = a;
        auto sum = b;
        at::mul_out(out, b, b);
        return at::sum_out(sum, a).clone();
      },
      [] {
        return std::tuple(torch::randn({3, 4}), torch::randn({}));
      });
  against_eager(
      [](Tensor a) {
        a.index_put_({torch::tensor({0, 2})}, 7.0);
        a.masked_fill_(a > 1, 0);
        return a;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.index_put_({torch::tensor({0, 0})}, torch::ones({4}), true);
        return a.clone();
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.normal_();
        a.bernoulli_(0.5);
        return a;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.zero_();
        a.fill_diagonal_(1);
        a.narrow(1, 0, 2).fill_(3);
        return a;
      },
      one_matrix);
}

TEST(Writes, ForeachReadsWhatItHasWritten) {  // ALI-04
  // In order: the second product reads the result of the first.
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        at::_foreach_mul_({a, b}, {b, a});
        return a - b;
      },
      two_matrices);
  against_eager(
      [](const Tensor& a) {
        auto x = a + 1;
        auto y = a + 2;
        at::_foreach_add_({x, y}, {y, x});
        return std::tuple(x, y);
      },
      one_matrix);
}

TEST(Writes, ForeachOverOneTensorTwice) {  // ALI-04
  against_eager(
      [](const Tensor& a) {
        at::_foreach_add_({a, a}, 1);
        at::_foreach_mul_({a, a[0]}, 2);
        return a + 1;
      },
      one_matrix);
}

TEST(Writes, OfOtherDtypes) {  // ALI-04
  against_eager(
      [](const Tensor& a) {
        a.add_(1);
        return a.to(at::kFloat);
      },
      [] { return std::tuple(torch::randint(9, {4}, at::kLong)); });
  against_eager(
      [](const Tensor& a) {
        a.logical_not_();
        return a;
      },
      [] { return std::tuple(torch::rand({4}) > 0.5); });
  against_eager(
      [](const Tensor& a) {
        a.add_(0.1);
        return a;
      },
      [] { return std::tuple(torch::randn({4}).to(at::kBFloat16)); });
  against_eager(
      [](const Tensor& a) {
        at::view_as_real(a).select(-1, 0).mul_(2);
        return a.abs();
      },
      [] { return std::tuple(torch::randn({4}, at::kComplexFloat)); });
}

}  // namespace
}  // namespace antegrad::test
