// Inputs that share memory with each other.
#include "support/against_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Two views of one base, over the same memory.
auto same_memory() {
  auto base = torch::randn({3, 4});
  return std::tuple(base.view({-1}), base.view({4, 3}));
}
auto base_and_view() {
  auto base = torch::randn({3, 4});
  return std::tuple(base, base[1]);
}
/// Halves that share one row.
auto overlapping_parts() {
  auto base = torch::randn({5, 4});
  return std::tuple(base.slice(0, 0, 3), base.slice(0, 2, 5));
}

TEST(AliasedInputs, ChangeOfOneIsSeenByTheOther) {  // ALI-35
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return b + 1;
      },
      same_memory);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        b.add_(1);
        return a * 2;
      },
      same_memory);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        b.mul_(3);
        return std::tuple(a + 1, b.sum());
      },
      base_and_view);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(3);
        return b.sum();
      },
      base_and_view);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.add_(1);
        b.mul_(2);
        a.sub_(1);
        return a + b;
      },
      overlapping_parts);
}

TEST(AliasedInputs, AnOpBetweenPartsThatOverlapIsRefusedAsInEager) {
  const auto error_of = [](const auto& call) {
    try {
      auto [a, b] = overlapping_parts();
      call(a, b);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  const auto add = [](const Tensor& a, const Tensor& b) { return a.add_(b); };
  const auto copy = [](const Tensor& a, const Tensor& b) {
    return a.view({-1}).copy_((b * 1).view({-1}) - b.view({-1}));
  };
  const auto copy_view = [](const Tensor& a, const Tensor& b) { return a.view({-1}).copy_(b.view({-1})); };
  EXPECT_NE(error_of(add), "");
  EXPECT_EQ(error_of(add), error_of(compile(add)));
  EXPECT_EQ(error_of(copy), "");
  EXPECT_EQ(error_of(compile(copy)), "");
  EXPECT_NE(error_of(copy_view), "");
  EXPECT_EQ(error_of(copy_view), error_of(compile(copy_view)));
}

TEST(AliasedInputs, ViewOfOneAfterTheOtherWasChanged) {  // ALI-36
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return std::tuple(b.clone(), b.view({-1}), b.t());
      },
      same_memory);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        b.mul_(2);
        return std::tuple(a.t(), a[1], b);
      },
      base_and_view);
}

TEST(AliasedInputs, ViewsAreRebuiltFromTheCallersArgument) {  // ALI-37
  auto three = [] {
    auto base = torch::randn({3, 4});
    return std::tuple(torch::randn({2, 2}), base.slice(0, 0, 2), base.slice(0, 1, 3));
  };
  against_eager(
      [](const Tensor& a, const Tensor& b, const Tensor& c) {
        c.mul_(2);
        return std::tuple(a.view({-1}), b.t(), c[0]);
      },
      three);
  auto compiled = compile([](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return b.t();
  });
  auto base = torch::zeros({2, 3});
  auto a = base.view({6});
  auto b = base.view({3, 2});
  EXPECT_TRUE(compiled(a, b)._base().is_same(base));
}

TEST(AliasedInputs, NumbersBetweenThemKeepTheirPlaces) {  // ALI-38
  auto make = [] {
    auto base = torch::randn({3, 4});
    return std::tuple(2, base[1], 0.5, base, std::string("x"), true, torch::randn({4}),
                      std::optional<int64_t>());
  };
  against_eager(
      [](int n, const Tensor& row, double f, const Tensor& all, const std::string& s, bool flag,
         const Tensor& c, std::optional<int64_t>) {
        row.mul_(n);
        return std::tuple(n + 1, (all * f).add(static_cast<int64_t>(s.size())), flag ? c + row : c, f);
      },
      make);
}

TEST(AliasedInputs, MetadataChangeOfOneNeedsNoMerging) {  // ALI-39
  auto metadata = [](const Tensor& a, const Tensor& b) {
    a.unsqueeze_(0);
    return a + b.sum();
  };
  against_eager(metadata, same_memory);
  auto compiled = compile(metadata);
  auto [a, b] = same_memory();
  compiled(a, b);
  EXPECT_EQ(count(compiled.signature(), "base of"), 0U) << compiled.signature();
}

TEST(AliasedInputs, WithoutARecordedBase) {  // ALI-40, ALI-41
  auto through_storage = [] {
    auto owner = torch::randn({3, 4});
    auto other = torch::empty({0}).set_(owner.storage(), 4, {2, 3}, {3, 1});
    return std::tuple(owner, other);
  };
  auto change = [](const Tensor& a, const Tensor& b) {
    b.mul_(2);
    a.select(1, 0).add_(1);
    return std::tuple(a + 1, b.t());
  };
  against_eager(change, through_storage);
  auto detached = [] {
    auto owner = torch::randn({3, 4});
    return std::tuple(owner.detach(), owner.detach().t());
  };
  against_eager(change, detached);
  auto data = [] {
    auto owner = torch::randn({3, 4});
    return std::tuple(owner, owner.variable_data().t());
  };
  against_eager(change, data);
}

// PyTorch refuses these because of gradients; without gradients there is nothing to refuse.
TEST(AliasedInputs, WithDifferentBases) {  // ERR-04
  auto make = [] {
    auto first = torch::randn({3, 4});
    auto second = first.detach();
    return std::tuple(first.view({-1}), second.view({4, 3}), first);
  };
  against_eager(
      [](const Tensor& a, const Tensor& b, const Tensor& c) {
        a.mul_(2);
        b[0].add_(1);
        return std::tuple(c + 1, b.t());
      },
      make);
}

TEST(AliasedInputs, TwoGroupsAmongOthers) {  // ALI-42
  auto make = [] {
    auto p = torch::randn({3, 4});
    auto q = torch::randn({8});
    return std::tuple(torch::randn({4}), p, q.slice(0, 0, 5), torch::randn({5}), p[2], q.slice(0, 3, 8),
                      torch::randn({3}));
  };
  against_eager(
      [](const Tensor& a, const Tensor& p, const Tensor& q, const Tensor& b, const Tensor& row,
         const Tensor& tail, const Tensor& c) {
        row.add_(a);
        q.mul_(2);
        return std::tuple(p + a, tail + b, c, c + 1, tail.slice(0, 1, 3));
      },
      make);
  // Written tensors of one storage that do not overlap stay separate.
  auto apart = [] {
    auto base = torch::randn({8});
    return std::tuple(base.slice(0, 0, 4), base.slice(0, 4, 8));
  };
  auto change = [](const Tensor& a, const Tensor& b) {
    a.add_(b);
    b.mul_(2);
    return a + b;
  };
  against_eager(change, apart);
  auto compiled = compile(change);
  auto [a, b] = apart();
  compiled(a, b);
  EXPECT_EQ(count(compiled.signature(), "base of"), 0U) << compiled.signature();
  // Interleaved: their extents overlap, but they have no element in common.
  auto interleaved = [] {
    auto base = torch::randn({6, 2});
    return std::tuple(base.select(1, 0), base.select(1, 1));
  };
  against_eager(change, interleaved);
}

TEST(AliasedInputs, OneTensorTwice) {  // ALI-43
  auto twice = [] {
    auto x = torch::randn({3, 4});
    return std::tuple(x, x);
  };
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return b;
      },
      twice);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.t_();
        return std::tuple(a + 1, b);
      },
      twice);
  against_eager([](const Tensor& a, const Tensor& b) { return std::tuple(a + b, b, a.view({-1})); },
                twice);  // part of CAP 04
  auto list = [] {
    auto x = torch::randn({4});
    return std::tuple(Tensors{x, x.view({2, 2}), x});
  };
  against_eager(
      [](const Tensors& all) {
        all[1].add_(1);
        all[2].mul_(all[0]);
        return all;
      },
      list);
}

TEST(AliasedInputs, OverlapsOfSeveralSizes) {  // ALI-44
  auto change = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    b.squeeze(0).mul_(2);
    return a + b.sum();
  };
  for (const int64_t size : {2, 3, 7}) {
    auto unsqueezed = [size] {
      auto base = torch::randn({size, 2});
      return std::tuple(base, base.unsqueeze(0));
    };
    against_eager(change, unsqueezed);
    auto offset = [size] {
      auto base = torch::randn({size + 3});
      return std::tuple(base.slice(0, 0, size), base.slice(0, 1, size + 1).unsqueeze(0));
    };
    against_eager(change, offset);
  }
}

TEST(AliasedInputs, WithACapturedTensor) {  // ALI-35
  // The function reaches the same memory through an argument and through a captured variable.
  auto owner = torch::zeros({6});
  auto function = [owner](const Tensor& a) {
    a.add_(1);
    return owner.sum();
  };
  auto compiled = compile(function);
  auto view = owner.slice(0, 1, 4);
  for (int call = 1; call < 4; ++call) {
    EXPECT_EQ(compiled(view).item<float>(), 3.0F * static_cast<float>(call));
    EXPECT_EQ(owner[0].item<float>(), 0);
  }
  auto apart = torch::zeros({3});
  EXPECT_EQ(compiled(apart).item<float>(), 9.0F);
  EXPECT_EQ(apart.sum().item<float>(), 3.0F);
}

TEST(AliasedInputs, OfTwoDtypesThatAreOnlyRead) {  // ALI-40
  auto make = [] {
    auto base = torch::randn({4});
    return std::tuple(base, base.view(at::kInt));
  };
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        return std::tuple(a + 1, b + 1, b.view({2, 2}));
      },
      make);
}

TEST(AliasedInputs, ThatOverlapThemselves) {  // ALI-16
  auto expanded = [] { return std::tuple(torch::randn({4}).expand({3, 4}), torch::randn({4})); };
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a[1].copy_(b);
        return a * 2;
      },
      expanded);
}

}  // namespace
}  // namespace antegrad::test
