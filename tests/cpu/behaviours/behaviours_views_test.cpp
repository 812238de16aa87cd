// Outputs that are views: of inputs, of intermediates, of each other.
#include "support/against_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto one_matrix() { return std::tuple(torch::randn({3, 4})); }
auto two_matrices() { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4})); }

TEST(ViewOfInput, SharesItsMemory) {  // ALI-21
  against_eager([](const Tensor& a) { return a.view({-1}); }, one_matrix);
  against_eager(
      [](const Tensor& a) { return std::tuple(a.t(), a[1], a.slice(1, 1, 3), a.diagonal(), a.unsqueeze(0)); },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        return std::tuple(a.as_strided({2, 2}, {1, 3}, 1), a.expand({2, 3, 4}), a.unfold(1, 2, 1));
      },
      one_matrix);
  against_eager([](const Tensor& a) { return a.split(2, 1); }, one_matrix);
  against_eager([](const Tensor& a) { return std::tuple(a.unbind(0), a.chunk(2, 1)); }, one_matrix);
  against_eager(
      [](const Tensor& a) { return std::tuple(a.detach(), a.alias(), a.view_as(a), a.expand_as(a)); },
      one_matrix);
  against_eager([](const Tensor& a) { return std::tuple(at::view_as_real(a), at::real(a), a.conj()); },
                [] { return std::tuple(torch::randn({3}, at::kComplexFloat)); });
  against_eager([](const Tensor& a) { return a.view(at::kInt); }, one_matrix);
}

TEST(ViewOfInput, OfAnInputThatIsAViewItself) {  // ALI-21
  auto part = [] { return std::tuple(torch::randn({5, 6}).slice(0, 1, 4).t()); };
  against_eager([](const Tensor& a) { return std::tuple(a[2], a.slice(0, 0, 2)); }, part);
  against_eager(
      [](const Tensor& a) {
        a[0].mul_(2);
        return std::tuple(a.t(), a.t().t());
      },
      part);
}

TEST(ViewOfInput, AfterTheInputOrAnotherIsChanged) {  // ALI-22
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return std::tuple(b.view({-1}), a.view({-1}));
      },
      two_matrices);
}

TEST(ViewOfInput, TakenBeforeAndAfterTheChange) {  // ALI-23
  against_eager(
      [](const Tensor& a) {
        a.add_(1);
        return a.view({-1});
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto before = a.view({-1});
        a.add_(1);
        before.mul_(2);
        return std::tuple(before, a.t());
      },
      one_matrix);
}

TEST(ViewOfInput, WithDataAndMetadataChanges) {  // ALI-24
  auto three = [] { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4}), torch::randn({3, 4})); };
  against_eager(
      [](const Tensor& a, const Tensor& b, const Tensor& c) {
        a.t_();
        b.mul_(2);
        return std::tuple(a.view_as(a), b.view({-1}), c.view({-1}), a + 1);
      },
      three, {.call_again = false});
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.transpose_(1, 0);
        b.add_(1);
        return std::tuple(a[0], b.t(), b[0] + a.t()[0]);
      },
      two_matrices, {.call_again = false});
}

TEST(ViewOfInput, ThatIsMadeToRequireGrad) {  // ALI-26
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        return std::tuple(a.view({-1}).requires_grad_(), b.add(1).requires_grad_());
      },
      two_matrices);
}

TEST(ViewOfIntermediate, One) {  // ALI-29
  against_eager([](const Tensor& a) { return (a * 2).view({-1}); }, one_matrix);
  against_eager([](const Tensor& a) { return (a * 2).t().slice(0, 1, 3); }, one_matrix);
  auto compiled = compile([](const Tensor& a) { return (a * 2).view({-1}); });
  compiled(torch::randn({2, 3}));
  EXPECT_EQ(count(compiled.signature(), "output"), 1U) << compiled.signature();
}

TEST(ViewOfIntermediate, TwoOfOne) {  // ALI-30
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        return std::tuple(t.view({-1}), t.unsqueeze(0));
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        return std::tuple(t[0], t.t(), t.slice(1, 2, 4), t.view({-1}).slice(0, 3, 7));
      },
      one_matrix);
}

TEST(ViewOfIntermediate, WithTheIntermediateItself) {  // ALI-31
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        return std::tuple(t, t.view({-1}));
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        return std::tuple(t.view({-1}), t);
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        return std::tuple(t.detach(), t.view({-1}), t, t);
      },
      one_matrix);
}

TEST(ViewOfIntermediate, ChangedThroughViews) {  // ALI-30
  against_eager(
      [](const Tensor& a) {
        auto t = a * 2;
        auto v = t.t();
        v[1].add_(1);
        t.mul_(3);
        return std::tuple(v, t[0]);
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        auto t = torch::zeros({3, 4});
        t.slice(0, 0, 2).copy_(a.slice(0, 1, 3));
        return std::tuple(t, t.t());
      },
      one_matrix);
}

TEST(ViewOfIntermediate, AllKindsOfAliasesTogether) {  // ALI-33
  against_eager(
      [](const Tensor& a) {
        a.transpose_(1, 0);
        auto made = a.add(1);
        auto squeezed = made.unsqueeze(0);
        return std::tuple(a, made, a.unsqueeze(0), squeezed.transpose(1, 2), made[0]);
      },
      one_matrix);
}

TEST(ViewOfOutput, OneMutatedIsSeenThroughTheOther) {  // ALI-34
  auto compiled = compile([](const Tensor& a) {
    auto t = a + 1;
    return std::pair(t, t.view({-1}));
  });
  auto [whole, flat] = compiled(torch::zeros({2, 2}));
  whole.add_(3);
  EXPECT_TRUE(at::equal(flat, torch::full({4}, 4.0)));
  flat.mul_(2);
  EXPECT_TRUE(at::equal(whole, torch::full({2, 2}, 8.0)));
}

TEST(ViewOfCaptured, SharesMemoryWithIt) {  // ALI-21
  auto make = [] {
    auto table = torch::randn({5, 4});
    return std::pair(
        [=](const Tensor& a) {
          table[0].add_(a.sum(0));
          return std::tuple(table.slice(0, 0, 3), table, table.t());
        },
        Tensors{table});
  };
  against_eager_with_state(make, one_matrix);
}

TEST(ViewOfCaptured, UnchangedOnesAreReturnedThemselves) {  // ALI-21
  auto make = [] {
    auto table = torch::randn({5, 4});
    return std::pair([=](const Tensor& a) { return std::tuple(table, table[1], a + table[2]); },
                     Tensors{table});
  };
  against_eager_with_state(make, one_matrix);
}

TEST(FreshOutputs, DoNotShareMemoryThatEagerDoesNotShare) {  // ALI-01
  // Equal values must not become one tensor, and a copy of an input must not become the input.
  against_eager(
      [](const Tensor& a) { return std::tuple(a.clone(), a.clone(), a * 1, a + 0, a.contiguous()); },
      one_matrix);
  against_eager(
      [](const Tensor& a) { return std::tuple(a * 2, a * 2, torch::zeros({2}), torch::zeros({2})); },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        return std::tuple(a.t().contiguous(), a.reshape({4, 3}), a.t().reshape({-1}), a.to(at::kFloat));
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        return std::tuple(torch::tensor({1.0, 2.0}), torch::tensor({1.0, 2.0}), a.sum());
      },
      one_matrix);
}

TEST(FreshOutputs, ConstantsAreFreshOnEachCall) {  // ALI-02
  auto compiled = compile([](const Tensor& a) { return std::pair(torch::tensor({1.0F, 2.0F}), a + 1); });
  auto x = torch::zeros({2});
  compiled(x).first.mul_(5);
  EXPECT_TRUE(at::equal(compiled(x).first, torch::tensor({1.0F, 2.0F})));
}

TEST(FreshOutputs, KeepEagersStrides) {  // ALI-01
  auto nhwc = [] {
    return std::tuple(torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast));
  };
  against_eager(
      [](const Tensor& a) {
        return std::tuple(a + 1, a.sum(1), a.permute({0, 2, 1, 3}) * 2, a.clone(), at::empty_like(a).zero_());
      },
      nhwc);
  against_eager(
      [](const Tensor& a) {
        return std::tuple(a.t() + 1, a.t().expand({2, 4, 3}) * 1, a.t().matmul(a));
      },
      one_matrix);
}

TEST(FreshOutputs, HaveMemoryOfTheirOwnSize) {  // ALI-01
  const auto x = torch::randn({50, 4}).slice(0, 20, 23);
  const auto check = [&](auto write) {
    const auto compiled = compile([&](const Tensor& x) {
      auto copy = x.clone();
      write(copy);
      return copy;
    });
    const auto copy = compiled(x);
    EXPECT_EQ(copy.storage_offset(), 0);
    EXPECT_EQ(copy.storage().nbytes(), copy.nbytes());
    auto expected = x.clone();
    write(expected);
    EXPECT_TRUE(at::equal(copy, expected));
  };
  check([&](Tensor& copy) { copy.copy_(x); });
  check([](Tensor& copy) { copy.select(0, 1).mul_(2); });
  check([](Tensor& copy) { copy.slice(0, 1, 2).mul_(2); });
  check([](Tensor& copy) { copy.diagonal().mul_(2); });
}

}  // namespace
}  // namespace antegrad::test
