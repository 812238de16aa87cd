// Callables that take arguments by reference and assign to them: the caller's variables change as in eager.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <thread>

#include "support/same_as_eager.h"

namespace {

using antegrad::compile;
using antegrad::test::same;
using at::Tensor;

Tensor ramp() { return torch::arange(4, torch::kFloat); }

TEST(ReferenceArguments, ATensorIsGivenAnother) {
  auto body = [](Tensor& x) {
    x = x * 2;
    return x.sum();
  };
  auto compiled = compile(body);
  for (int call = 0; call < 2; ++call) {
    auto a = ramp(), b = ramp();
    const auto before = b;
    EXPECT_TRUE(same(body(a), compiled(b)));
    EXPECT_TRUE(same(a, b));
    EXPECT_TRUE(before.equal(ramp()));
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(ReferenceArguments, WhatIsNotAssignedToStaysTheSameObject) {
  auto compiled = compile([](Tensor& x, Tensor& y) {
    x.mul_(2);
    y = y + 1;
    return x + y;
  });
  auto x = ramp(), y = ramp();
  const auto same_x = x, old_y = y;
  compiled(x, y);
  EXPECT_TRUE(x.is_same(same_x));
  EXPECT_FALSE(y.is_same(old_y));
  EXPECT_TRUE(y.equal(ramp() + 1));
}

TEST(ReferenceArguments, ATensorIsGivenOneOfTheArguments) {
  auto compiled = compile([](Tensor& x, Tensor& y) {
    std::swap(x, y);
    return x - y;
  });
  auto x = ramp(), y = torch::ones({4});
  const auto old_x = x, old_y = y;
  EXPECT_TRUE(compiled(x, y).equal(old_y - old_x));
  EXPECT_TRUE(x.is_same(old_y));
  EXPECT_TRUE(y.is_same(old_x));
}

TEST(ReferenceArguments, AViewOfTheArgument) {
  auto body = [](Tensor& x) {
    x = x.view({2, 2}).t();
    return x * 2;
  };
  auto a = ramp(), b = ramp();
  const auto whole = b;
  EXPECT_TRUE(same(body(a), compile(body)(b)));
  EXPECT_TRUE(same(a, b));
  EXPECT_TRUE(b.is_alias_of(whole));
}

TEST(ReferenceArguments, Containers) {
  auto body = [](std::vector<Tensor>& list, std::map<std::string, Tensor>& named,
                 std::optional<Tensor>& maybe, std::pair<Tensor, int>& pair) {
    list.push_back(list[0] * 2);
    list[0] = list[0] + 1;
    named["sum"] = list[1].sum();
    maybe = list[1];
    pair.second += 1;
    return list[0].sum();
  };
  auto compiled = compile(body);
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensor> a{ramp()}, b{ramp()};
    std::map<std::string, Tensor> c, d;
    std::optional<Tensor> e, f;
    std::pair<Tensor, int> g{ramp(), 1}, h{ramp(), 1};
    EXPECT_TRUE(same(body(a, c, e, g), compiled(b, d, f, h)));
    EXPECT_TRUE(same(a, b));
    ASSERT_EQ(d.size(), 1U);
    EXPECT_TRUE(same(c["sum"], d["sum"]));
    ASSERT_TRUE(f.has_value());
    EXPECT_TRUE(f->is_same(b[1]));
    EXPECT_EQ(h.second, 2);
  }
  EXPECT_EQ(compiled.report().captures, 1U);
}

TEST(ReferenceArguments, ListsThatShrinkAndClear) {
  auto compiled = compile([](std::vector<Tensor>& list) {
    auto last = list.back();
    list.pop_back();
    return last * 2;
  });
  std::vector<Tensor> list{ramp(), ramp() + 1};
  const auto first = list[0];
  EXPECT_TRUE(compiled(list).equal((ramp() + 1) * 2));
  ASSERT_EQ(list.size(), 1U);
  EXPECT_TRUE(list[0].is_same(first));
  compiled(list);
  EXPECT_TRUE(list.empty());
}

TEST(ReferenceArguments, Numbers) {
  auto body = [](const Tensor& x, double& running, int64_t& steps, bool& seen, std::string& log) {
    running += 0.5;
    ++steps;
    seen = true;
    log += "x";
    return x * running;
  };
  auto compiled = compile(body);
  double a = 0, b = 0;
  int64_t c = 0, d = 0;
  bool e = false, f = false;
  std::string g, h;
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(same(body(ramp(), a, c, e, g), compiled(ramp(), b, d, f, h)));
    EXPECT_EQ(a, b);
    EXPECT_EQ(c, d);
    EXPECT_EQ(e, f);
    EXPECT_EQ(g, h);
  }
  b = 0, d = 0, f = false, h = "";
  compiled(ramp(), b, d, f, h);  // an earlier version serves this call
  EXPECT_EQ(b, 0.5);
  EXPECT_EQ(h, "x");
  EXPECT_EQ(compiled.report().captures, 3U);
}

struct State {
  Tensor position;
  int step = 0;
  std::string name;  ///< not among the fields
};
auto antegrad_fields(State& state) { return std::tie(state.position, state.step); }

TEST(ReferenceArguments, FieldsOfStructsAndNothingElse) {
  auto compiled = compile([](State& state, std::vector<State>& others) {
    state.position = state.position * 2;
    ++state.step;
    others[0].position = state.position;
    others.push_back({state.position + 1, 7, "new"});
  });
  for (const auto* name : {"first", "second"}) {
    State state{ramp(), 3, name};
    std::vector<State> others{{ramp(), 1, name}};
    compiled(state, others);
    EXPECT_TRUE(state.position.equal(ramp() * 2));
    EXPECT_EQ(state.step, 4);
    EXPECT_EQ(state.name, name);
    ASSERT_EQ(others.size(), 2U);
    EXPECT_TRUE(others[0].position.is_same(state.position));
    EXPECT_EQ(others[0].name, name);
    EXPECT_EQ(others[1].step, 7);
  }
}

TEST(ReferenceArguments, GradientsGoThroughWhatWasAssigned) {
  auto body = [](Tensor& x, const Tensor& w) {
    x = x * w;
    return x.sum();
  };
  auto eager_w = ramp().requires_grad_(), w = ramp().requires_grad_();
  auto a = ramp(), b = ramp();
  const auto eager = body(a, eager_w), out = compile(body)(b, w);
  EXPECT_TRUE(b.requires_grad());
  (eager + a.pow(2).sum()).backward();
  (out + b.pow(2).sum()).backward();
  EXPECT_TRUE(same(eager_w.grad(), w.grad()));
}

TEST(ReferenceArguments, SecondDerivatives) {
  auto body = [](Tensor& x, const Tensor& w) {
    x = (x * w).sin();
    return x.sum();
  };
  Tensor results[2];
  for (bool compiled : {false, true}) {
    auto w = ramp().to(torch::kDouble).requires_grad_();
    auto x = ramp().to(torch::kDouble);
    const auto out = compiled ? compile(body)(x, w) : body(x, w);
    const auto first = torch::autograd::grad({out + x.pow(2).sum()}, {w}, {}, true, true)[0];
    results[compiled] = torch::autograd::grad({first.pow(2).sum()}, {w})[0];
  }
  EXPECT_TRUE(torch::allclose(results[0], results[1]));
}

TEST(ReferenceArguments, OneVariableTwice) {
  auto body = [](Tensor& x, Tensor& y) {
    x = x + 1;
    y = y * 2;
    return x - y;
  };
  auto compiled = compile(body);
  auto a = ramp(), b = ramp();
  EXPECT_TRUE(same(body(a, a), compiled(b, b)));
  EXPECT_TRUE(same(a, b));
  auto c = ramp(), d = ramp(), e = ramp(), f = ramp();
  EXPECT_TRUE(same(body(c, d), compiled(e, f)));
  EXPECT_TRUE(same(c, e));
  EXPECT_TRUE(same(d, f));
}

TEST(ReferenceArguments, APartOfAnotherArgumentIsRefusedWhenAssigned) {
  auto body = [](std::vector<Tensor>& list, Tensor& first) {
    first = first * 2;
    return list[0].sum();
  };
  std::vector<Tensor> list{ramp()};
  try {
    compile(body)(list, list[0]);
    FAIL() << "no error";
  } catch (const antegrad::Error& error) {
    EXPECT_EQ(error.code(), antegrad::ErrorCode::UnsupportedArgument);
    EXPECT_EQ(
        std::string(error.what()),
        "[compile] the function assigns to argument 1, which contains another argument or is part of one. "
        "Pass only "
        "one of the two, or return the new value. After aten.mul.Scalar, aten.sum.");
  }
  EXPECT_TRUE(list[0].equal(ramp()));
  antegrad::Options options;
  options.unsupported = antegrad::Unsupported::Eager;
  std::vector<Tensor> eager{ramp()};
  EXPECT_TRUE(same(body(eager, eager[0]), compile(body, options)(list, list[0])));
  EXPECT_TRUE(same(eager, list));
}

TEST(ReferenceArguments, GenericCallables) {
  auto compiled = compile([](auto& x, auto&&... rest) {
    x = x * 2;
    ((rest = rest + 1), ...);
    return x.sum();
  });
  auto x = ramp(), y = ramp();
  double z = 1;
  compiled(x, y, z);
  EXPECT_TRUE(x.equal(ramp() * 2));
  EXPECT_TRUE(y.equal(ramp() + 1));
  EXPECT_EQ(z, 2);
}

TEST(ReferenceArguments, ConstantsAndTemporariesAreLeftAlone) {
  auto compiled = compile([](Tensor& x) {
    x = x * 2;
    return x.sum();
  });
  const auto x = ramp();
  EXPECT_EQ(compiled(x).item<float>(), 12);
  EXPECT_EQ(compiled(ramp()).item<float>(), 12);
  EXPECT_TRUE(x.equal(ramp()));
}

void free_function(Tensor& x, const Tensor& y) { x = x + y; }

struct CountingImpl : torch::nn::Module {
  Tensor forward(const Tensor& x, std::vector<Tensor>& seen) {
    seen.push_back(x * 2);
    return x.sum();
  }
};
TORCH_MODULE(Counting);

TEST(ReferenceArguments, FunctionsAndModules) {
  auto x = ramp();
  compile(free_function)(x, ramp());
  EXPECT_TRUE(x.equal(ramp() * 2));
  std::vector<Tensor> seen;
  auto module = compile(Counting());
  module(x, seen);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_TRUE(seen[0].equal(x * 2));
}

TEST(ReferenceArguments, InsideAnotherCompiledFunction) {
  auto inner = compile([](Tensor& x) { x = x * 2; });
  auto outer = compile([inner](const Tensor& x) {
    auto y = x + 1;
    inner(y);
    return y;
  });
  EXPECT_TRUE(outer(ramp()).equal((ramp() + 1) * 2));
  auto twice = compile(inner);
  auto y = ramp();
  twice(y);
  EXPECT_TRUE(y.equal(ramp() * 2));
}

TEST(ReferenceArguments, WhileUncompiled) {
  for (auto how : {antegrad::Compile::Background, antegrad::Compile::Blocking}) {
    antegrad::Options options;
    options.compile = how;
    options.unsupported = antegrad::Unsupported::Eager;
    auto compiled = compile(
        [](Tensor& x, int& calls) {
          if (x.sum().item<float>() < 0) return x;
          x = x * 2;
          ++calls;
          return x.sum();
        },
        options);
    auto x = ramp();
    int calls = 0;
    compiled(x, calls);
    EXPECT_TRUE(x.equal(ramp() * 2));
    EXPECT_EQ(calls, 1);
  }
}

TEST(ReferenceArguments, OfGradAndValueAndGrad) {
  auto energy = [](const Tensor& x, std::vector<Tensor>& log, Tensor& last, int& calls) {
    const auto value = x.pow(2).sum();
    log.push_back(value);
    last = x * last;
    ++calls;
    return value;
  };
  const auto x = ramp().requires_grad_();
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensor> log{ramp()};
    const auto kept = log[0];
    auto last = ramp();
    int calls = 0;
    const auto [value, gradients] = antegrad::value_and_grad(energy)(x, log, last, calls);
    EXPECT_TRUE(gradients[0].equal(2 * ramp()));
    ASSERT_EQ(log.size(), 2U);
    EXPECT_TRUE(log[0].is_same(kept));
    EXPECT_TRUE(log[1].equal(value));
    EXPECT_FALSE(log[1].requires_grad());
    EXPECT_TRUE(last.equal(ramp() * ramp()));
    EXPECT_EQ(calls, 1);
  }
}

TEST(ReferenceArguments, ManyThreads) {
  auto compiled = compile([](std::vector<Tensor>& list, int& calls) {
    list.push_back(list.back() + 1);
    ++calls;
  });
  std::vector<std::thread> threads;
  std::vector<std::vector<Tensor>> lists(4, {ramp()});
  std::vector<int> calls(4);
  for (size_t t = 0; t < lists.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3; ++i) compiled(lists[t], calls[t]);
    });
  for (auto& thread : threads) thread.join();
  for (size_t t = 0; t < lists.size(); ++t) {
    ASSERT_EQ(lists[t].size(), 4U);
    EXPECT_TRUE(lists[t].back().equal(ramp() + 3));
    EXPECT_EQ(calls[t], 3);
  }
}

}  // namespace
