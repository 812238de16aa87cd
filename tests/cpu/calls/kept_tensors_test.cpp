// Functions that store some of their tensors: tables made on first use, masks per size, states. Whatever
// becomes of the capture, the stored tensors are real, and each call takes effect once.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>

#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;

Options with(Unsupported unsupported) {
  Options options;
  options.unsupported = unsupported;
  return options;
}

Tensor table_of(int64_t n) { return torch::arange(n).to(torch::kFloat).unsqueeze(1).sin(); }

/// Remakes its table for each size.
struct Table {
  Tensor table;
  int made = 0;
  Tensor forward(const Tensor& x) {
    if (!table.defined() || table.size(0) != x.size(0)) {
      table = table_of(x.size(0));
      ++made;
    }
    return x + table;
  }
};

/// Grows its table.
struct Rope {
  Tensor table;
  Tensor forward(const Tensor& x) {
    const auto n = x.size(0);
    if (!table.defined() || table.size(0) < n) table = table_of(n);
    return x * table.slice(0, 0, n);
  }
};

/// Stores two tables of one size.
struct CosSin {
  Tensor cos, sin;
  Tensor forward(const Tensor& x) {
    if (!cos.defined() || cos.size(0) != x.size(0)) {
      auto angles = torch::arange(x.size(0)).to(torch::kFloat).unsqueeze(1) * 0.1;
      cos = angles.cos();
      sin = angles.sin();
    }
    return x * cos - x.flip(1) * sin;
  }
};

/// Stores a mask for each size.
struct PerSize {
  std::map<int64_t, Tensor> masks;
  Tensor forward(const Tensor& x) {
    auto& mask = masks[x.size(0)];
    if (!mask.defined()) mask = torch::ones({x.size(0), x.size(0)}).tril();
    return mask.matmul(x);
  }
};

/// Compares with an eager layer at these sizes in turn, with uncompiled calls in between.
template <class Module>
void expect_as_eager(const Options& options, const std::vector<int64_t>& sizes, int64_t warmed_up = 0) {
  Module mine, reference;
  if (warmed_up > 0) mine.forward(torch::ones({warmed_up, 2}));
  auto compiled = compile([&](const Tensor& x) { return mine.forward(x); }, options);
  for (auto n : sizes) {
    SCOPED_TRACE(n);
    auto x = torch::rand({n, 2}).requires_grad_();
    auto y = x.detach().clone().requires_grad_();
    auto actual = compiled(x);
    auto expected = reference.forward(y);
    ASSERT_TRUE(at::allclose(actual, expected));
    actual.sum().backward();
    expected.sum().backward();
    EXPECT_TRUE(at::allclose(x.grad(), y.grad()));
    EXPECT_TRUE(at::allclose(mine.forward(x), expected)) << "what it has kept";
  }
}

TEST(KeptTensors, CachesAreFilledOnFirstUse) {
  const std::vector<int64_t> sizes = {3, 3, 4, 5, 3, 64, 3, 7, 7};
  for (const auto unsupported : {Unsupported::Error, Unsupported::Eager})
    for (const auto dynamic : {Dynamic::Auto, Dynamic::None, Dynamic::All}) {
      auto options = with(unsupported);
      options.dynamic = dynamic;
      expect_as_eager<Table>(options, sizes);
      expect_as_eager<Rope>(options, sizes);
      expect_as_eager<CosSin>(options, sizes);
      expect_as_eager<PerSize>(options, sizes);
    }
}

TEST(KeptTensors, CachesThatWereFilledBefore) {
  for (const int64_t first : {60, 16}) {
    const std::vector<int64_t> sizes = {first, first + 1, first + 2, first};
    expect_as_eager<Rope>({}, sizes, 64);
    expect_as_eager<Table>({}, sizes, first);
    expect_as_eager<CosSin>({}, sizes, first);
    expect_as_eager<PerSize>({}, sizes, first);
  }
}

TEST(KeptTensors, ACacheThatGrowsIsLargeEnoughForSymbols) {
  Rope net;
  net.forward(torch::ones({64, 2}));
  auto compiled = compile([&](const Tensor& x) { return net.forward(x); });
  for (const int64_t n : {60, 61, 62, 63, 40, 50, 60}) {
    auto x = torch::rand({n, 2});
    EXPECT_TRUE(at::allclose(compiled(x), x * table_of(n)));
  }
  EXPECT_EQ(compiled.report().captures, 2U);
  EXPECT_TRUE(compiled.report().fixed_sizes.empty());
}

TEST(KeptTensors, AFilledCacheIsCompiledAndReplacingItIsNoticed) {
  Table net;
  auto compiled = compile([&](const Tensor& x) { return net.forward(x); });
  auto x = torch::rand({3, 2});
  compiled(x);
  compiled(x);
  EXPECT_EQ(compiled.report().captures, 1U);
  compiled(x);
  EXPECT_EQ(compiled.report().captures, 1U);
  EXPECT_EQ(net.made, 1);
  net.table = torch::full({3, 1}, 7.f);
  EXPECT_TRUE(at::equal(compiled(x), x + 7));
}

/// Compares a state over several calls, each of which must take effect once.
template <class F>
void expect_same_states(const Options& options, const F& step, int calls) {
  Tensor mine, reference;
  auto compiled = compile([&](const Tensor& x) { return step(x, mine); }, options);
  for (int call = 0; call < calls; ++call) {
    SCOPED_TRACE(call);
    auto x = torch::rand({2, 3});
    ASSERT_TRUE(at::allclose(compiled(x), step(x, reference)));
    ASSERT_TRUE(at::allclose(mine, reference));
  }
}

Tensor hidden_state(const Tensor& x, Tensor& state) {
  state = (x + (state.defined() ? state : torch::zeros_like(x))).tanh();
  return state * 2;
}
Tensor growing_state(const Tensor& x, Tensor& state) {
  state = state.defined() ? torch::cat({state, x}) : x * 1;
  return state.sum(0);
}
Tensor last_result(const Tensor& x, Tensor& state) {
  state = x.exp();
  return state;
}
Tensor last_argument(const Tensor& x, Tensor& state) {
  state = x;
  return x + 1;
}

TEST(KeptTensors, StatesGoOnAsInEager) {
  for (const auto& step : {hidden_state, growing_state, last_result, last_argument}) {
    expect_same_states({}, step, 2);
    expect_same_states(with(Unsupported::Eager), step, 6);
    auto background = with(Unsupported::Eager);
    background.compile = Compile::Background;
    expect_same_states(background, step, 6);
  }
}

TEST(KeptTensors, AStateIsRefusedAtTheThirdCallAndNothingHasChanged) {
  Tensor state;
  int runs = 0;
  auto compiled = compile([&](const Tensor& x) {
    ++runs;
    return hidden_state(x, state);
  });
  auto x = torch::rand({2, 3});
  compiled(x);
  compiled(x);
  const auto before = state;
  const auto contents = state.clone();
  for (int call = 0; call < 2; ++call) {
    try {
      compiled(x);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::UnsupportedOp);
      EXPECT_EQ(
          std::string(error.what()),
          "[capture] 'function' keeps some of its tensors beyond each call, in a member, a cache or a static "
          "variable. Return them, keep a clone() outside the function, or set Options::unsupported to "
          "Eager.");
    }
  }
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(state.is_same(before));
  EXPECT_TRUE(at::equal(state, contents));
}

TEST(KeptTensors, AReturnedTensorThatIsKeptIsTheReturnedOne) {
  Tensor kept;
  auto compiled = compile([&](const Tensor& x) { return kept = x * 3; });
  auto x = torch::rand({3}).requires_grad_();
  auto result = compiled(x);
  EXPECT_EQ(kept.data_ptr(), result.data_ptr());
  kept.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), torch::full({3}, 3.f)));
}

TEST(KeptTensors, HistoriesOfKeptTensorsLeadToTheRealOnes) {
  auto weight = torch::rand({2, 3}).requires_grad_();
  auto x = torch::rand({4, 3}).requires_grad_();
  Tensor transposed, scaled;
  auto compiled = compile([&](const Tensor& a) {
    if (!transposed.defined()) transposed = weight.t();
    if (!scaled.defined()) scaled = a * 2;
    return a.matmul(transposed);
  });
  for (int call = 1; call < 4; ++call) {
    auto result = compiled(x);
    EXPECT_TRUE(at::allclose(result, x.matmul(weight.t())));
    result.sum().backward();
    EXPECT_TRUE(at::allclose(weight.grad(), x.detach().sum(0).expand({2, 3}) * call));
  }
  EXPECT_EQ(transposed.data_ptr(), weight.data_ptr());
  x.mutable_grad().reset();
  scaled.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), torch::full({4, 3}, 2.f)));
}

TEST(KeptTensors, ViewsOfArgumentsAreViewsOfThem) {
  Tensor row;
  auto compiled = compile([&](const Tensor& a) {
    if (!row.defined()) row = a[1];
    a.add_(1);
    return a * 2;
  });
  auto x = torch::zeros({2, 3});
  EXPECT_TRUE(at::equal(compiled(x), torch::full({2, 3}, 2.f)));
  EXPECT_TRUE(at::equal(row, torch::ones({3})));
  x.fill_(5);
  EXPECT_TRUE(at::equal(row, torch::full({3}, 5.f)));
}

/// As autograd sees it, too, and a call that returns it returns the stored tensor.
TEST(KeptTensors, StoredViewsOfArgumentsHaveTheRealBase) {
  Tensor row, kept;
  auto compiled = compile([&](const Tensor& a) {
    if (!row.defined()) row = a[1];
    if (!kept.defined()) kept = a.expand({1, 2, 3});
    return kept;
  });
  const auto y = torch::zeros({2, 3});
  const auto first = compiled(y);
  EXPECT_TRUE(row.is_view());
  EXPECT_TRUE(row._base().is_same(y));
  EXPECT_EQ(row._version(), y._version());
  EXPECT_TRUE(first.is_same(kept));
  EXPECT_TRUE(first._base().is_same(y));
  const auto second = compiled(torch::ones({2, 3}));
  EXPECT_TRUE(second.is_same(first));
  y.fill_(4);
  EXPECT_TRUE(at::equal(second, torch::full({1, 2, 3}, 4.f)));
}

TEST(KeptTensors, WhatIsStoredBeforeAnErrorIsReal) {
  for (const auto unsupported : {Unsupported::Error, Unsupported::Eager}) {
    Table net;
    Tensor mask;
    auto compiled = compile(
        [&](const Tensor& x) {
          auto y = net.forward(x);
          if (!mask.defined()) mask = y > 0.5;
          return y * y.sum().item<float>();
        },
        with(unsupported));
    auto x = torch::rand({3, 2});
    const auto y = x + table_of(3);
    if (unsupported == Unsupported::Error)
      EXPECT_THROW(compiled(x), Error);
    else
      EXPECT_TRUE(at::allclose(compiled(x), y * y.sum()));
    EXPECT_TRUE(at::equal(mask, y > 0.5));
    EXPECT_TRUE(at::equal(net.table, table_of(3)));
    EXPECT_TRUE(at::allclose(net.forward(x), y));
  }
}

TEST(KeptTensors, WhatIsStoredBeforeAnExceptionOfTheFunctionIsReal) {
  Tensor kept;
  auto compiled = compile([&](const Tensor& x) -> Tensor {
    kept = torch::tensor({1.f, 2.f, 3.f}) * x;
    throw std::runtime_error("mine");
  });
  auto x = torch::rand({3});
  EXPECT_THROW(compiled(x), std::runtime_error);
  EXPECT_TRUE(at::allclose(kept, torch::tensor({1.f, 2.f, 3.f}) * x));
}

/// A module that makes its parameters when it sees the first input. Eager fills their .grad from the first
/// call on.
TEST(KeptTensors, LeavesThatGradientsReach) {
  for (const auto unsupported : {Unsupported::Error, Unsupported::Eager, Unsupported::Break}) {
    Tensor weight;
    Options options;
    options.unsupported = unsupported;
    auto compiled = compile(
        [&](const Tensor& x) {
          if (!weight.defined()) weight = torch::ones({3}).requires_grad_();
          return x * weight;
        },
        options);
    const auto x = torch::rand({3});
    if (unsupported == Unsupported::Error) {
      try {
        compiled(x);
        ADD_FAILURE() << "the leaf would have no gradient";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::NeedsGrad);
        EXPECT_NE(std::string(error.what()).find("makes a leaf of shape [3] and stores it"),
                  std::string::npos)
            << error.what();
      }
      EXPECT_TRUE(at::equal(weight, torch::ones({3})));
    }
    for (int call = 1; call < 4; ++call) {
      compiled(x).sum().backward();
      ASSERT_TRUE(weight.grad().defined());
      EXPECT_TRUE(at::allclose(weight.grad(), x * call));
    }
  }
}

TEST(KeptTensors, DataAndGradOfTensorsThatNoOpUses) {
  auto data = torch::zeros({3});
  auto leaf = torch::zeros({3}).requires_grad_();
  auto compiled = compile([&](const Tensor& x) {
    data.set_data(x * 2);
    leaf.mutable_grad() = x * 3;
    return x + 1;
  });
  auto x = torch::rand({3});
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(at::equal(compiled(x), x + 1));
    EXPECT_TRUE(at::equal(data, x * 2));
    EXPECT_TRUE(at::equal(leaf.grad(), x * 3));
  }
  EXPECT_THROW(compiled(x), Error);
  EXPECT_TRUE(at::equal(data, x * 2));
}

TEST(KeptTensors, MemoryFilledByTheHost) {
  Tensor table;
  auto compiled = compile([&](const Tensor& x) {
    if (!table.defined()) table = torch::tensor({1.f, 2.f, 4.f});
    return x * table;
  });
  auto x = torch::rand({3});
  for (int call = 0; call < 3; ++call)
    EXPECT_TRUE(at::equal(compiled(x), x * torch::tensor({1.f, 2.f, 4.f})));
  EXPECT_EQ(table[2].item<float>(), 4.f);
  table.add_(1);
  EXPECT_TRUE(at::equal(compiled(x), x * torch::tensor({2.f, 3.f, 5.f})));
}

TEST(KeptTensors, RandomNumbersOfWhatIsKeptAreThoseOfTheResult) {
  Tensor mask;
  auto compiled = compile([&](const Tensor& x) {
    mask = (torch::rand_like(x) > 0.5).to(torch::kFloat);
    return x * mask;
  });
  auto x = torch::rand({64}) + 1;
  test::manual_seed(3);
  auto result = compiled(x);
  EXPECT_TRUE(at::equal(result, x * mask));
  test::manual_seed(3);
  EXPECT_TRUE(at::equal(mask, (torch::rand_like(x) > 0.5).to(torch::kFloat)));
}

TEST(KeptTensors, ExplainFillsCachesToo) {
  Table net;
  auto compiled = compile([&](const Tensor& x) { return net.forward(x); });
  auto x = torch::rand({3, 2});
  EXPECT_NE(compiled.explain(x).graph, "");
  EXPECT_TRUE(at::equal(net.table, table_of(3)));
  Tensor state;
  auto stateful = compile([&](const Tensor& a) { return hidden_state(a, state); });
  EXPECT_THROW(stateful.explain(x), Error);
}

}  // namespace
}  // namespace antegrad::test
