// Inputs and captured tensors that the function changes in place.
#include "support/against_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

auto one_matrix() { return std::tuple(torch::randn({3, 4})); }
auto two_matrices() { return std::tuple(torch::randn({3, 4}), torch::randn({3, 4})); }
/// A leaf that requires a gradient, in calls that need none.
auto one_leaf() { return std::tuple(torch::randn({3, 4}).requires_grad_()); }

TEST(Mutation, InputIsChanged) {  // ALI-04
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(2);
        return a + b;
      },
      two_matrices);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.add_(b);
        a.sigmoid_();
        b.copy_(a.t().contiguous().t());
        return a * b;
      },
      two_matrices);
}

TEST(Mutation, OneCopyPerMutatedInput) {  // ALI-04
  auto compiled = compile([](const Tensor& x) {
    x.mul_(2).add_(1).relu_();
    return x.sum();
  });
  auto x = torch::randn({4});
  compiled(x);
  EXPECT_EQ(count(compiled.signature(), "write"), 1U) << compiled.signature();
  EXPECT_EQ(count(compiled.graph(), "_("), 0U) << compiled.graph();
}

TEST(Mutation, ChangedAndReturned) {  // ALI-05
  against_eager(
      [](const Tensor& a) {
        a.add_(1);
        return a;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a, const Tensor& b) {
        a.mul_(b);
        return std::tuple(b, a, a);
      },
      two_matrices);
  auto compiled = compile([](const Tensor& a) { return a.add_(1); });
  auto x = torch::zeros({2});
  EXPECT_TRUE(compiled(x).is_same(x));
}

TEST(Mutation, MetadataOnly) {  // ALI-06
  against_eager(
      [](const Tensor& a) {
        a.transpose_(1, 0);
        return a + 1;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.transpose_(1, 0);
        a.mul_(2);
        return a + 1;
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.unsqueeze_(0);
        a.squeeze_(0);
        a.t_();
        return a.sum(0);
      },
      one_matrix);
  against_eager(
      [](const Tensor& a) {
        a.mul_(2);
        a.swapdims_(0, 1);
        a.unsqueeze_(1);
        return a;
      },
      one_matrix);
}

TEST(Mutation, MetadataOnlyCopiesNothing) {  // ALI-06
  auto compiled = compile([](const Tensor& a) {
    a.t_();
    return a.sum();
  });
  auto x = torch::randn({2, 3});
  compiled(x);
  EXPECT_EQ(x.sizes().vec(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(count(compiled.signature(), "write"), 0U) << compiled.signature();
}

TEST(Mutation, MetadataThenRowThenView) {  // ALI-07
  against_eager(
      [](const Tensor& a) {
        a.t_();
        a[0].mul_(2);
        return a.view_as(a);
      },
      one_matrix);
}

TEST(Mutation, StridedViewOfALargerTensor) {  // ALI-08
  auto strided = [] { return std::tuple(torch::randn({6, 8}).slice(0, 1, 6, 2).slice(1, 2, 8, 3)); };
  against_eager(
      [](const Tensor& a) {
        a.mul_(3);
        return a + 1;
      },
      strided);
  against_eager(
      [](const Tensor& a) {
        a.copy_(a.t().contiguous().t() * 2);
        return a;
      },
      [] {
        return std::tuple(torch::randn({5, 5}).t());
      });
  against_eager(
      [](const Tensor& a) {
        a.add_(1);
        return a.flip(0);
      },
      [] {
        return std::tuple(torch::randn({4, 9}).diagonal());
      });
  against_eager(
      [](const Tensor& a) {
        a.add_(1);
        return a * 2;
      },
      [] {
        return std::tuple(torch::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast));
      });
}

TEST(Mutation, DetachedAliasOfALeaf) {  // ALI-09
  against_eager(
      [](const Tensor& a) {
        auto d = a.detach();
        d.mul_(2);
        return d + 3;
      },
      one_leaf);
}

TEST(Mutation, LeafUnderNoGrad) {  // ALI-10
  auto inside = [](const Tensor& a) {
    at::NoGradGuard no_grad;
    a.mul_(2);
    return a + 3;
  };
  against_eager(inside, one_leaf);
  against_eager(
      [](const Tensor& a) {
        a.mul_(2);
        return a + 3;
      },
      one_leaf, {.grad_mode = false});
}

TEST(Mutation, LeafThroughAViewUnderNoGrad) {  // ALI-11
  auto hidden = [](const Tensor& a) {
    at::NoGradGuard no_grad;
    a.view({-1}).slice(0, 2, 9).mul_(2);
    return a.sum();
  };
  against_eager(hidden, one_leaf);
  auto compiled = compile(hidden);
  auto x = torch::randn({3, 4}).requires_grad_();
  compiled(x);
  EXPECT_EQ(x._version(), 1U);
  EXPECT_TRUE(x.is_leaf());
}

// The values of ALI 12 and ALI 13, without what the backward pass uses.
TEST(Mutation, BatchNormStatistics) {
  auto make = [] {
    torch::nn::BatchNorm2d norm(3);
    for (auto& p : norm->parameters()) p.requires_grad_(false);
    auto tensors = norm->parameters();
    for (auto& b : norm->buffers()) tensors.push_back(b);
    return std::pair([norm](const Tensor& x) mutable { return norm->forward(x); }, tensors);
  };
  against_eager_with_state(make, [] { return std::tuple(torch::randn({2, 3, 4, 4})); });
}

TEST(Mutation, BuffersOfDifferentShapes) {
  auto make = [] {
    auto counter = torch::zeros({}, at::kLong);
    auto row = torch::zeros({4});
    return std::pair(
        [=](const Tensor& x) {
          counter.add_(1);
          row.add_(x.sum(0));
          return x * row + counter;
        },
        Tensors{counter, row});
  };
  against_eager_with_state(make, one_matrix);
}

// The first half of ALI 14: no gradient is taken here.
TEST(Mutation, RequiresGradSetInside) {
  against_eager(
      [](const Tensor& a) {
        a.requires_grad_(true);
        return a.detach() + 1;
      },
      one_matrix, {.call_again = false});
}

TEST(Mutation, DetachedAliasSeesLaterMutation) {  // ALI-15
  against_eager(
      [](const Tensor& a) {
        auto d = a.detach();
        a.mul_(2);
        return std::tuple(d, d + 1);
      },
      one_matrix);
}

TEST(Mutation, RowOfAnExpandedInput) {  // ALI-16
  auto expanded = [] { return std::tuple(torch::randn({1, 4}).expand({3, 4})); };
  against_eager(
      [](const Tensor& a) {
        a[0].mul_(3);
        return a + 1;
      },
      expanded);
  against_eager(
      [](const Tensor& a) {
        auto e = a.expand({3, 3, 4});
        e[1].add_(1);
        return e.sum(0);
      },
      one_matrix);
}

/// Returns what a function throws, or what it computes.
template <class F>
std::string outcome(const F& function) {
  auto x = torch::arange(9, at::kFloat).view({3, 3});
  try {
    return c10::str(function(x), x);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
}

TEST(Mutation, OpsBetweenPartsThatOverlapAreRefusedAsInEager) {
  using Function = std::function<Tensor(const Tensor&)>;
  const auto same = [](const Function& function, bool is_refused) {
    const auto eager = outcome(function), compiled = outcome(compile(function));
    EXPECT_EQ(eager, compiled);
    EXPECT_EQ(eager.find("refer to a single memory location") != std::string::npos, is_refused) << eager;
  };
  const auto refused = [&](const Function& function) { same(function, true); };
  const auto accepted = [&](const Function& function) { same(function, false); };
  refused([](const Tensor& x) { return x.add_(x[0]); });
  refused([](const Tensor& x) { return x.view({-1}).slice(0, 1).sub_(x.view({-1}).slice(0, 0, 8)); });
  refused([](const Tensor& x) { return (x * 2).view({-1}).mul_(x.view({-1})), x.t().add_(x); });
  refused([](const Tensor& x) {
    auto y = x * 2;
    return y.add_(y[0]);
  });
  refused([](const Tensor& x) {
    auto y = x * 2;
    return y.addcmul_(x, y[0][1]);
  });
  refused([](const Tensor& x) {
    auto y = x * 2;
    y.slice(0, 1).copy_(y.slice(0, 0, 2));
    return y;
  });
  refused([](const Tensor& x) {
    auto y = x * 2;
    auto out = y.slice(0, 1);
    return at::mul_out(out, y.slice(0, 0, 2), x[0]);
  });
  accepted([](const Tensor& x) { return x.add_(x).mul_(x.view({3, 3})); });
  accepted([](const Tensor& x) { return x[0].add_(x[1]).mul_(x[2]); });
  accepted([](const Tensor& x) { return x.select(1, 0).add_(x.select(1, 1)); });
  accepted([](const Tensor& x) { return x.fill_(x[1][1]); });
  accepted([](const Tensor& x) { return x.masked_fill_(x > 3, x[1][1]); });
  accepted([](const Tensor& x) {
    auto y = x * 2;
    y.slice(0, 1, 1).copy_(y.slice(0, 2, 2));
    return y.slice(0, 0, 1).copy_(y.slice(0, 1, 2));
  });
  accepted([](const Tensor& x) {
    auto y = x * 2;
    return at::sin_out(y, y);
  });
}

}  // namespace
}  // namespace antegrad::test
