// Inputs whose memory kernels write to, and those that are copied at the end of a call.

#include "runtime/memory_pool.h"
#include "support/against_eager.h"
#include "support/closeness.h"
#include "support/counting_allocator.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Compares the explanation of what a call writes to. LibTorch's kernels write nothing in place.
template <class F, class... Args>
void expect_writes(const std::string& expected, F function, const Args&... args) {
  const auto writes = compile(std::move(function)).explain(args...).writes;
  if (runs_libtorch_kernels())
    EXPECT_EQ(writes.find("written in place"), std::string::npos) << writes;
  else
    EXPECT_EQ(writes, expected);
}

auto two_vectors() { return std::tuple(torch::randn({70}), torch::randn({70})); }
auto two_matrices() { return std::tuple(torch::randn({5, 6}), torch::randn({5, 6})); }

TEST(InPlace, WhatNothingReadsLater) {  // ALI-04
  const auto update = [](const Tensor& average, const Tensor& weight) {
    return average.mul_(0.9).add_(weight, 0.1);
  };
  expect_writes("arg0: written in place\n", update, torch::randn({70}), torch::randn({70}));
  against_eager(update, two_vectors);
  const auto both = [](const Tensor& a, const Tensor& b) {
    a.mul_(2);
    b.add_(1);
    return a.sum();
  };
  expect_writes("arg0: written in place\narg1: written in place\n", both, torch::randn({70}),
                torch::randn({70}));
  against_eager(both, two_vectors);
  const auto overwrite = [](const Tensor& a, const Tensor& b) { return a.copy_(b * 2); };
  expect_writes("arg0: written in place\n", overwrite, torch::randn({70}), torch::randn({70}));
  against_eager(overwrite, two_vectors);
}

TEST(InPlace, AllocatesNothing) {
  if (runs_libtorch_kernels()) return;
  const auto compiled = compile([](const Tensor& a, const Tensor& b) { a.mul_(0.9).add_(b, 0.1); });
  const auto a = torch::randn({1 << 18}), b = torch::randn({1 << 18});
  const auto expected = a * 0.9 + b * 0.1;
  compiled(a, b);
  EXPECT_TRUE(at::allclose(a, expected, 1e-5, 1e-6));
  auto& memory = CountingAllocator::installed();
  runtime::memory_pool::clear();
  memory.fail_after(0);
  const auto* before = a.const_data_ptr();
  EXPECT_NO_THROW(compiled(a, b));
  memory.fail_after(-1);
  EXPECT_FALSE(memory.failed());
  EXPECT_EQ(a.const_data_ptr(), before);
}

TEST(InPlace, OldContentsThatAreReadLater) {
  const auto swap = [](const Tensor& a, const Tensor& b) {
    const auto old = a.clone();
    a.copy_(b.sin());
    return b.copy_(old.cos());
  };
  against_eager(swap, two_vectors);
  const auto shifted = [](const Tensor& a, const Tensor& b) { return a.copy_(a.flip(0) + b); };
  against_eager(shifted, two_vectors);
  const auto transposed = [](const Tensor& a, const Tensor& b) {
    const auto t = (a.t() * 2).contiguous();
    a.add_(1);
    return std::tuple(t, at::mm(a, b.t()));
  };
  against_eager(transposed, two_matrices);
  const auto prefix = [](const Tensor& a, const Tensor& b) {
    a.narrow(0, 1, 3).add_(a.narrow(0, 0, 3).clone());
    return a * b;
  };
  against_eager(prefix, two_matrices);
}

TEST(InPlace, NewContentsThatAreReturned) {
  const auto returned = [](const Tensor& a, const Tensor& b) {
    const auto sum = a + b;
    a.copy_(sum);
    return sum;
  };
  against_eager(returned, two_vectors);
  const auto old = [](const Tensor& a, const Tensor& b) {
    const auto before = a * b;
    a.add_(1);
    return std::tuple(before, a);
  };
  expect_writes("arg0: written in place\n", old, torch::randn({70}), torch::randn({70}));
  against_eager(old, two_vectors);
}

TEST(InPlace, APartOfAnInput) {
  const auto write = [](const Tensor& cache, const Tensor& row) {
    cache.narrow(0, 3, 1).copy_(row);
    return cache;
  };
  const auto cache = [] { return std::tuple(torch::randn({8, 40}), torch::randn({1, 40})); };
  expect_writes("arg0: written in place\n", write, torch::randn({8, 40}), torch::randn({1, 40}));
  against_eager(write, cache);
  const auto attend = [](const Tensor& cache, const Tensor& row) {
    cache.select(0, 3).add_(row.squeeze(0));
    return (cache * row).sum(-1);
  };
  against_eager(attend, cache);
}

TEST(InPlace, InputsThatOverlapThemselvesOrOthers) {  // ALI-07
  const auto add = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return a * b;
  };
  const auto expanded = [](const Tensor& a, const Tensor& b) {
    a.fill_(3);
    return a * b;
  };
  against_eager(expanded, [] {
    return std::tuple(torch::randn({1, 6}).expand({5, 6}), torch::randn({5, 6}));
  });
  expect_writes(
      "arg0: copied at the end: its memory is not dense, or has another layout than its new contents\n",
      expanded, torch::randn({1, 6}).expand({5, 6}), torch::randn({5, 6}));
  against_eager(add, [] {
    const auto whole = torch::randn({10, 6});
    return std::tuple(whole.narrow(0, 0, 5), whole.narrow(0, 2, 5));
  });
  against_eager(add, [] {
    const auto whole = torch::randn({5, 6});
    return std::tuple(whole, whole);
  });
  against_eager(add, [] {
    const auto whole = torch::randn({5, 12});
    return std::tuple(whole.narrow(1, 0, 6), whole.narrow(1, 6, 6));
  });
  against_eager(add, [] { return std::tuple(torch::randn({6, 5}).t(), torch::randn({5, 6})); });
}

TEST(InPlace, MemoryThatIsCopiedWhenItIsWritten) {
  const auto compiled = compile([](const Tensor& a, const Tensor& b) { a.add_(b); });
  const auto original = torch::zeros({50});
  const auto lazy = original._lazy_clone();
  compiled(lazy, torch::ones({50}));
  EXPECT_TRUE(lazy.equal(torch::ones({50})));
  EXPECT_TRUE(original.equal(torch::zeros({50})));
}

TEST(InPlace, StatisticsOfBatchNorms) {
  auto norm = torch::nn::BatchNorm2d(8);
  auto convolution = torch::nn::Conv2d(3, 8, 3);
  const auto net = [=](const Tensor& x) mutable {
    return norm->forward(convolution->forward(x)).relu().sum();
  };
  expect_writes("lifted2: written in place\nlifted5: written in place\nlifted6: written in place\n", net,
                torch::randn({2, 3, 9, 9}));
}

TEST(InPlace, AFailureAfterwardsLeavesInputsAlone) {
  const auto compiled = compile([](const Tensor& x, const Tensor& table, const Tensor& index) {
    x.mul_(2);
    return at::index(table, {index}).sum() + x.sum();
  });
  const auto x = torch::randn({70}), table = torch::randn({5}), before = x.clone();
  compiled(x, table, torch::tensor({4, 1}));
  EXPECT_TRUE(x.equal(before * 2));
  EXPECT_ANY_THROW(compiled(x, table, torch::tensor({4, 7})));
  EXPECT_TRUE(x.equal(before * 2));
}

TEST(InPlace, BesideAHistory) {
  const auto weight = torch::randn({70}).requires_grad_();
  const auto compiled = compile([=](const Tensor& average, const Tensor& x) {
    const auto y = (x * weight).sin();
    average.mul_(0.9).add_(y.detach(), 0.1);
    return y.pow(2).sum();
  });
  auto average = torch::randn({70});
  const auto before = average.clone(), x = torch::randn({70});
  const auto loss = compiled(average, x);
  const auto expected = before * 0.9 + (x * weight).sin().detach() * 0.1;
  EXPECT_TRUE(at::allclose(average, expected, 1e-5, 1e-6));
  loss.backward();
  auto other = weight.detach().clone().requires_grad_();
  (x * other).sin().pow(2).sum().backward();
  EXPECT_TRUE(at::allclose(weight.grad(), other.grad(), 1e-4, 1e-5));
}

TEST(InPlace, Versions) {
  const auto compiled = compile([](const Tensor& a) { a.mul_(2).add_(1); });
  const auto a = torch::randn({70});
  compiled(a);
  const auto version = a._version();
  compiled(a);
  EXPECT_EQ(a._version() - version, 2);
}

}  // namespace
}  // namespace antegrad::test
