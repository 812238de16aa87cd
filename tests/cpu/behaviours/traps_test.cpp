// The traps of capturing without Python: host data, caches, wrapped numbers.
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

/// Calls both twice with the same arguments and compares everything; there must be one capture.
template <class F, class... Args>
void expect_same(const F& f, const Args&... args) {
  auto compiled = compile(f);
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same(f(args...), compiled(args...)));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(HostData, TorchTensorOfNumbers) {
  auto x = torch::ones({2, 2});
  expect_same([](const Tensor& t) { return t + torch::tensor(2.5); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor(3); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor(true); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor({0.5, -0.0}); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor({1, 2}); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor({{1, 2}, {3, 4}}); }, x);
  expect_same([](const Tensor& t) { return t * torch::tensor({{{1.5f}}, {{2.5f}}}); }, x);
  expect_same([](const Tensor& t) { return t.logical_xor(torch::tensor({true, false})); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor(c10::complex<double>(1, 2)); }, x);
  expect_same([](const Tensor&) { return torch::tensor({1, 2, 3}); }, x);
}

TEST(HostData, TorchTensorOfVectorsAndDtypes) {
  auto x = torch::ones({3});
  expect_same([](const Tensor& t) { return t + torch::tensor(std::vector<double>{1, 2, 3}); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor(std::vector<float>{1, 2, 3}); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor(std::vector<int64_t>{1, 2, 3}); }, x);
  for (auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
                     at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble, at::kBool}) {
    expect_same([=](const Tensor&) { return torch::tensor(std::vector<int64_t>{1, 0, 3}, dtype); }, x);
    expect_same([=](const Tensor& t) { return t + torch::tensor({1.0, 0.0, 2.0}, dtype); }, x);
  }
  expect_same(
      [](const Tensor& t) {
        return torch::cat({t, torch::tensor(std::vector<float>(1000, 0.5f))});
      },
      x);
}

TEST(HostData, TorchTensorOfNothing) {
  auto x = torch::ones({3});
  expect_same([](const Tensor& t) { return t + torch::tensor(std::vector<int64_t>{}).sum(); }, x);
  expect_same([](const Tensor&) { return torch::tensor(std::vector<float>{}); }, x);
}

/// Memory of fakes begins with a pattern, which numbers of one or two bytes may happen to equal.
TEST(HostData, EveryNumberOfAFewBytes) {
  for (int64_t number = -128; number < 256; ++number) {
    auto compiled = compile([&](const Tensor& t) {
      return t + torch::tensor(std::vector<int64_t>{number}, number < 0 ? at::kChar : at::kByte);
    });
    EXPECT_TRUE(compiled(torch::zeros({1})).equal(torch::full({1}, static_cast<float>(number)))) << number;
  }
  const auto x = torch::zeros({1});
  expect_same([](const Tensor& t) { return t + torch::tensor({24231}, at::kShort); }, x);
  expect_same([](const Tensor& t) { return t + torch::tensor({425.75}, at::kHalf); }, x);
}

TEST(HostData, ConstantsAreByValue) {
  std::vector<float> numbers{1, 2};
  auto compiled = compile([&](const Tensor& t) { return t + torch::tensor(numbers); });
  auto x = torch::zeros({2});
  compiled(x);
  numbers = {5, 6};  // a captured number: the graph keeps the old value …
  EXPECT_TRUE(same(torch::tensor({1.0f, 2.0f}), compiled(x)));
  Options options;
  options.check_recapture = true;  // … and the debug option reports it
  auto checked = compile([&](const Tensor& t) { return t + torch::tensor(numbers); }, options);
  EXPECT_TRUE(same(torch::tensor({5.0f, 6.0f}), checked(x)));
  EXPECT_TRUE(same(torch::tensor({5.0f, 6.0f}), checked(x)));
  numbers[0] = 7;
  EXPECT_EQ(code_thrown_by([&] { checked(x); }), ErrorCode::GraphChanged);
}

TEST(HostData, ResultsMadeOfConstantsAreFreshEachTime) {
  auto compiled = compile([](const Tensor&) { return torch::tensor({1.0, 2.0}); });
  auto x = torch::zeros({1});
  auto first = compiled(x);
  first.add_(10);  // must not reach the graph
  EXPECT_TRUE(same(torch::tensor({1.0, 2.0}), compiled(x)));
  auto written = compile([](const Tensor& t) { return torch::tensor({1.0f, 2.0f}).mul_(3).add_(t); });
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same(torch::tensor({3.0f, 6.0f}), written(x)));
}

TEST(HostData, FromBlobOfTheStack) {
  auto f = [](float offset) {
    return [offset](const Tensor& t) {
      float buffer[6] = {1 + offset, 2, 3, 4, 5, 6};
      auto out = t + torch::from_blob(buffer, {2, 3}) + torch::from_blob(buffer, {2, 2}, {3, 2}).sum() +
                 torch::from_blob(buffer, {3, 2}, {1, 3}).t();
      return out;
    };
  };
  auto x = torch::zeros({2, 3});
  expect_same(f(0), x);
  float offset = 0.5;
  auto compiled = compile([&](const Tensor& t) { return f(offset)(t); });
  auto expected = f(offset)(x);
  compiled(x);
  offset = 100;
  EXPECT_TRUE(same(expected, compiled(x)));  // the values at the time of capture are constants
}

TEST(HostData, FromBlobLivesOnlyWhileTheFunctionRuns) {
  auto f = [](const Tensor& t) {
    Tensor borrowed;
    {
      std::vector<double> gone{1, 2, 3};
      borrowed = torch::from_blob(gone.data(), {3}, at::kDouble).clone();
    }
    return t * borrowed;
  };
  expect_same(f, torch::ones({3}));
}

TEST(HostData, FromBlobOutsideIsACapturedTensor) {
  std::vector<float> memory{1, 2, 3};
  auto blob = torch::from_blob(memory.data(), {3});
  auto compiled = compile([&](const Tensor& t) { return t + blob; });
  auto x = torch::zeros({3});
  EXPECT_TRUE(same(x + blob, compiled(x)));
  memory[0] = 10;
  EXPECT_TRUE(same(x + blob, compiled(x)));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(HostData, WritingThroughFromBlobIsAnError) {
  float buffer[2] = {1, 2};
  auto compiled = compile([&](const Tensor& t) { return torch::from_blob(buffer, {2}).add_(t).clone(); });
  EXPECT_EQ(code_thrown_by([&] { compiled(torch::ones({2})); }), ErrorCode::UnsupportedOp);
  EXPECT_EQ(buffer[0], 1);
}

TEST(HostData, ScalarTensorsAndFactories) {
  auto x = torch::ones({3});
  expect_same([](const Tensor& t) { return t + torch::scalar_tensor(2.5); }, x);
  expect_same([](const Tensor& t) { return t + torch::scalar_tensor(7, at::kLong); }, x);
  expect_same(
      [](const Tensor& t) { return t + torch::full({3}, 0.1) + torch::full({}, 3) + torch::full_like(t, 2); },
      x);
  expect_same([](const Tensor& t) { return t + torch::arange(3) + torch::arange(1, 4, 1, at::kDouble); }, x);
  expect_same([](const Tensor& t) { return t + torch::eye(3) + torch::eye(1, 3); }, x);
  expect_same([](const Tensor& t) { return t + torch::linspace(0, 1, 3) + torch::logspace(0, 1, 3); }, x);
  expect_same(
      [](const Tensor& t) { return t + torch::zeros({3}) + torch::ones({1}, at::kHalf) + t.new_zeros({3}); },
      x);
  expect_same(
      [](const Tensor& t) { return t + torch::hann_window(3) + torch::tril_indices(3, 3)[0].slice(0, 0, 3); },
      x);
  expect_same([](const Tensor& t) { return torch::empty({3}).copy_(t); }, x);
  expect_same([](const Tensor& t) { return torch::empty_like(t).fill_(3) + t; }, x);
}

TEST(HostData, FilledByTheHost) {
  auto f = [](const Tensor& t) {
    auto table = torch::empty({4});
    for (int i = 0; i < 4; ++i) table.data_ptr<float>()[i] = 0.5f * static_cast<float>(i);
    auto grid = torch::zeros({2, 2});
    return t + table.view({2, 2}) + grid;
  };
  expect_same(f, torch::ones({2, 2}));
}

TEST(HostData, ItemOfHostDataIsKnown) {
  auto f = [](const Tensor& t) {
    return t * torch::tensor(std::vector<float>{2.5f}).item<double>() +
           torch::tensor(std::vector<int64_t>{3}).item<int64_t>();
  };
  expect_same(f, torch::ones({2}));
}

TEST(HostData, IndexConstants) {
  auto x = torch::arange(60, at::kFloat).view({3, 4, 5});
  auto rows = torch::tensor({2, 0});
  auto mask = torch::tensor({true, false, true});
  expect_same([](const Tensor& t) { return t.index({1}); }, x);
  expect_same([](const Tensor& t) { return t.index({-1, Slice(1, 3), Slice(None, None, 2)}).clone(); }, x);
  expect_same([](const Tensor& t) { return t.index({Ellipsis, 2, None}); }, x);
  expect_same([](const Tensor& t) { return t.index({Slice(), torch::tensor({3, 1, 1})}); }, x);
  expect_same(
      [](const Tensor& t) {
        return t.index({torch::tensor({2, 0}), Slice(), torch::tensor({{1}, {4}})});
      },
      x);
  expect_same([](const Tensor& t) { return t.index({true}); }, x);
  expect_same([](const Tensor& t) { return t.index({Slice(), 1, true}); }, x);
  expect_same([](const Tensor& t, const Tensor& r) { return t.index({r, 1}); }, x, rows);
  expect_same([&](const Tensor& t) { return t.index({rows, Ellipsis, Slice(0, 2)}); }, x);
  expect_same(
      [](const Tensor& t, const Tensor& m) {
        return torch::where(m.view({3, 1, 1}), t, -t);
      },
      x, mask);
  // A view stays a view.
  auto compiled = compile([](const Tensor& t) { return t.index({1, Slice(1, 3)}); });
  EXPECT_TRUE(compiled(x).is_alias_of(x));
}

TEST(HostData, IndexPutConstants) {
  auto run = [](const auto& f) {
    auto compiled = compile(f);
    auto eager = torch::arange(12, at::kFloat).view({3, 4});
    auto x = eager.clone();
    for (int call = 0; call < 2; ++call) {
      EXPECT_TRUE(same(f(eager), compiled(x)));
      EXPECT_TRUE(same_state(eager, x));
    }
    EXPECT_EQ(compiled.report().captures, 1u);
  };
  run([](Tensor t) { return t.index_put_({1, Slice(0, 2)}, 7.5); });
  run([](Tensor t) { return t.index_put_({Ellipsis, -1}, torch::tensor({1.0f, 2.0f, 3.0f})); });
  run([](Tensor t) { return t.index_put_({torch::tensor({0, 2})}, t.index({1}).clone()) + 1; });
  run([](Tensor t) {
    return t.index_put_({torch::tensor({0, 0}), torch::tensor({1, 1})}, torch::ones({2}), true);
  });
  run([](Tensor t) { return t.index_put_({t > 3}, -1.0); });
  run([](Tensor t) {
    t[0][1] = 5;
    t.select(1, 2).zero_();
    return t * 2;
  });
}

TEST(WrappedNumbers, PromoteLikeEager) {
  for (auto dtype : {at::kByte, at::kInt, at::kLong, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble,
                     at::kComplexFloat, at::kBool}) {
    auto x = torch::ones({2}, dtype);
    expect_same([](const Tensor& t) { return t + 2; }, x);
    expect_same([](const Tensor& t) { return t + 2.5; }, x);
    expect_same([](const Tensor& t) { return t * true; }, x);
    expect_same([](const Tensor& t) { return 3 - t.to(at::kInt); }, x);
    expect_same([](const Tensor& t) { return t * c10::complex<double>(0, 1); }, x);
    expect_same(
        [](const Tensor& t) {
          return t + torch::tensor(2.5, at::kDouble) + torch::tensor({2.5}, at::kDouble);
        },
        x);
    expect_same([](const Tensor& t) { return torch::where(t == 1, 1.5, t); }, x);
    expect_same(
        [](const Tensor& t) { return torch::pow(2, t.to(at::kFloat)) + torch::pow(t.to(at::kFloat), 2); }, x);
  }
}

TEST(Caches, AutocastKeepsNoFakes) {
  auto w = torch::randn({4, 4}).requires_grad_();  // only leaves that require gradients are cached
  auto f = [&](const Tensor& x) { return x.matmul(w); };
  auto compiled = compile(f);
  auto x = torch::randn({4, 4});
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::increment_nesting();
  Tensor eager, out, eager_after;
  {
    torch::NoGradGuard no_grad;
    out = compiled(x);
  }
  eager_after = f(x);
  eager_after.sum().backward();  // through the cached cast
  {
    torch::NoGradGuard no_grad;
    eager = f(x);
    EXPECT_TRUE(same(eager, compiled(x)));
  }
  at::autocast::decrement_nesting();
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
  EXPECT_TRUE(same(eager, out));
  EXPECT_TRUE(eager_after.detach().equal(eager));
  EXPECT_TRUE(w.grad().defined() && w.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace antegrad::test
