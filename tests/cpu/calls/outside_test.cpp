// What a function may do to tensors and memory around it: done as in eager or refused, never ignored
// silently.
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

template <class Fn>
ErrorCode refused(Fn&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::Internal;
}

void expect_all_same(const std::vector<Tensor>& eager, const std::vector<Tensor>& compiled) {
  ASSERT_EQ(eager.size(), compiled.size());
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(same(eager[i], compiled[i])) << i;
}

class Outside : public ::testing::Test {
 protected:
  torch::NoGradGuard no_grad_;
};

TEST_F(Outside, GradOfAnArgumentIsRead) {
  auto step = [](const Tensor& p) {
    if (p.grad().defined()) p.sub_(p.grad() * 0.5);
    return p.sum();
  };
  auto compiled = compile(step);
  auto p = torch::ones({3}).requires_grad_();
  auto q = torch::ones({3}).requires_grad_();
  for (int round = 0; round < 4; ++round) {
    if (round == 1) p.mutable_grad() = torch::full({3}, 2.f), q.mutable_grad() = torch::full({3}, 2.f);
    if (round == 2) p.grad().add_(1), q.grad().add_(1);
    if (round == 3) p.mutable_grad() = torch::full({3}, 7.f), q.mutable_grad() = torch::full({3}, 7.f);
    auto expected = step(p);
    EXPECT_TRUE(torch::equal(expected, compiled(q))) << round;
    EXPECT_TRUE(torch::equal(p, q)) << round;
  }
}

/// Such a view requires a gradient because of its base, but has no place in autograd's graph.
TEST_F(Outside, ViewOfALeafMadeWithoutGradModeStaysOne) {
  auto leaf = torch::ones({3}).requires_grad_();
  auto view = leaf.view({3, 1});
  auto compiled = compile([&](const Tensor& x) { return x * view; });
  for (int call = 0; call < 2; ++call) {
    compiled(torch::ones({1}));
    EXPECT_TRUE(view.requires_grad());
    EXPECT_FALSE(torch::autograd::impl::get_autograd_meta(view)->requires_grad_);
    EXPECT_THROW(torch::autograd::grad({view}, {leaf}, {torch::ones({3, 1})}), c10::Error);
  }
}

TEST_F(Outside, GradOfACapturedTensorIsGuarded) {
  auto p = torch::ones({3}).requires_grad_();
  auto f = [&](const Tensor& x) { return p.grad().defined() ? x * p + p.grad() : x * p; };
  auto compiled = compile(f);
  auto x = torch::ones({3});
  EXPECT_TRUE(torch::equal(f(x), compiled(x)));
  p.mutable_grad() = torch::full({3}, 2.f);
  EXPECT_TRUE(torch::equal(f(x), compiled(x)));
  auto old = p.grad();
  p.mutable_grad() = torch::full({3}, 5.f);
  EXPECT_TRUE(torch::equal(f(x), compiled(x)));
}

// A net that is evaluated between training steps, each of which gives it new gradients.
TEST_F(Outside, WhichGradAnUnreadOneIsDoesNotMatter) {
  auto p = torch::ones({3}).requires_grad_();
  auto compiled = compile([&](const Tensor& x) { return x * p; });
  auto x = torch::ones({3});
  for (int step = 0; step < 5; ++step) {
    EXPECT_TRUE(torch::equal(x * p, compiled(x))) << step;
    p.mutable_grad() = torch::full({3}, 2.f);
  }
  EXPECT_EQ(compiled.report().captures, 2u);  // without a gradient, and with one
}

TEST_F(Outside, SettingGradOrDataOfAnArgumentIsRefused) {
  auto x = torch::ones({3}).requires_grad_();
  auto set_grad = compile([](const Tensor& a) {
    Tensor(a).mutable_grad() = a * 2;
    return a + 1;
  });
  EXPECT_EQ(refused([&] { set_grad(x); }), ErrorCode::UnsupportedOp);
  EXPECT_FALSE(x.grad().defined());
  auto y = torch::ones({3});
  auto set_data = compile([](const Tensor& a) {
    Tensor(a).set_data(a * 2);
    return a + 1;
  });
  EXPECT_EQ(refused([&] { set_data(y); }), ErrorCode::UnsupportedOp);
  EXPECT_TRUE(torch::equal(y, torch::ones({3})));
}

TEST_F(Outside, HostMemoryChangedBehindOpsIsRefused) {
  auto late = compile([](const Tensor& x) {
    auto t = torch::empty({4});
    auto a = t.accessor<float, 1>();
    t.zero_();
    for (int i = 0; i < 4; ++i) a[i] = float(i + 1);
    return x + t;
  });
  EXPECT_EQ(refused([&] { late(torch::zeros({4})); }), ErrorCode::UnsupportedOp);
  auto twice = compile([](const Tensor& x) {
    float b[2] = {1, 1};
    auto t = torch::from_blob(b, {2});
    auto y = x + t;
    b[0] = 5;
    return y + t;
  });
  EXPECT_EQ(refused([&] { twice(torch::zeros({2})); }), ErrorCode::UnsupportedOp);
}

TEST_F(Outside, ConstantsKeepTheirStrides) {
  auto f = [](const Tensor& x) {
    static float d[6] = {0, 1, 2, 3, 4, 5};
    auto c = torch::from_blob(d, {2, 3}, {1, 2});
    return std::vector<Tensor>{c * x, c.clone(), c.t().view({6}), c.as_strided({6}, {1}) + 0};
  };
  auto compiled = compile(f);
  auto x = torch::full({2, 3}, 2.f);
  for (int call = 0; call < 2; ++call) expect_all_same(f(x), compiled(x));
}

TEST_F(Outside, RequiresGradSetOnACapturedTensor) {
  auto w = torch::ones({2});
  auto compiled = compile([&](const Tensor& x) {
    auto y = x * w;
    w.set_requires_grad(true);
    return y;
  });
  compiled(torch::ones({2}));
  EXPECT_TRUE(w.requires_grad());
}

TEST_F(Outside, StridedCopiesCountFromTheStorage) {
  auto f = [](const Tensor& x) {
    auto v = (x + 1).slice(0, 2);
    v.add_(10);
    return std::vector<Tensor>{at::as_strided_copy(v, {2}, {1}, 3),
                               at::as_strided_scatter(v, x.slice(0, 0, 2), {2}, {1}, 4)};
  };
  auto compiled = compile(f);
  auto x = torch::arange(8.f);
  auto eager = f(x);
  auto results = compiled(x);
  EXPECT_TRUE(same(eager[0], results[0]));
  EXPECT_TRUE(torch::equal(eager[1], results[1]));
}

TEST_F(Outside, DtypeOfCapturedParametersIsRestored) {
  torch::nn::Linear l(2, 2);
  auto before = l->weight.clone();
  auto compiled = compile([&](const Tensor& x) {
    auto y = l->forward(x);
    l->to(at::kHalf);
    return y;
  });
  EXPECT_EQ(refused([&] { compiled(torch::ones({1, 2})); }), ErrorCode::UnsupportedOp);
  EXPECT_EQ(l->weight.scalar_type(), at::kFloat);
  EXPECT_TRUE(torch::equal(l->weight, before));
}

TEST_F(Outside, ConjugatedAndNegatedViews) {
  auto write = compile([](const Tensor& z, const Tensor& c) {
    z.add_(1);
    return c * 1;
  });
  auto z = torch::ones({2});
  EXPECT_EQ(refused([&] { write(z, at::_neg_view(z)); }), ErrorCode::UnsupportedTensor);
  EXPECT_TRUE(torch::equal(z, torch::ones({2})));
  auto resolve = [](const Tensor& x) { return at::view_as_real(x.resolve_conj()) + 0; };
  auto compiled = compile(resolve);
  auto c = torch::randn({3}, at::kComplexFloat).conj();
  EXPECT_TRUE(same(resolve(c), compiled(c)));
}

TEST_F(Outside, ChangedArgumentThatIsCapturedToo) {
  auto w = torch::ones({2, 3});
  auto compiled = compile([&](const Tensor& x) {
    x.t_();
    return w.sum(0);
  });
  EXPECT_EQ(refused([&] { compiled(w); }), ErrorCode::UnsupportedTensor);
  EXPECT_EQ(w.size(0), 2);
}

TEST_F(Outside, NestedArgumentsAreRefused) {
  auto nested = at::_nested_tensor_from_tensor_list({torch::ones({2}), torch::ones({3})});
  auto f = [](const Tensor& x) { return x * 2; };
  auto compiled = compile(f);
  EXPECT_EQ(refused([&] { compiled(nested); }), ErrorCode::UnsupportedTensor);
  Options options;
  options.unsupported = Unsupported::Eager;
  auto eager = compile(f, options);
  EXPECT_TRUE(eager(nested).is_nested());
  EXPECT_EQ(eager.report().eager_calls, 1u);
}

TEST_F(Outside, HalvesOfOneBufferStayApart) {
  auto buffer = torch::zeros({8, 8});
  auto compiled = compile([](const Tensor& a, const Tensor& b) { a.add_(b).add_(1); });
  for (int call = 0; call < 3; ++call) compiled(buffer.slice(1, 0, 4), buffer.slice(1, 4));
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_TRUE(torch::equal(buffer.slice(1, 0, 4), torch::full({8, 4}, 3.f)));
  EXPECT_TRUE(torch::equal(buffer.slice(1, 4), torch::zeros({8, 4})));
}

}  // namespace
}  // namespace antegrad::test
