// Tensors that the function reaches without receiving them: which memory they refer to, and what a capture
// leaves unchanged.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// The observable state of a tensor and of its autograd metadata, to be compared later.
struct Snapshot {
  explicit Snapshot(const Tensor& t)
      : tensor(t),
        version(t._version()),
        grad_fn(t.grad_fn().get()),
        requires_grad(t.requires_grad()),
        leaf(t.is_leaf()),
        storage(t.storage().unsafeGetStorageImpl()),
        values(t.detach().clone()),
        sizes(t.sizes().vec()),
        strides(t.strides().vec()),
        offset(t.storage_offset()),
        output_nr(t.output_nr()) {
    if (t.is_leaf()) grad = t.grad();
    if (grad.defined()) grad_values = grad.clone();
  }

  void expect_unchanged() const {
    EXPECT_EQ(tensor._version(), version);
    EXPECT_EQ(tensor.grad_fn().get(), grad_fn);
    EXPECT_EQ(tensor.requires_grad(), requires_grad);
    EXPECT_EQ(tensor.is_leaf(), leaf);
    EXPECT_EQ(tensor.output_nr(), output_nr);
    EXPECT_EQ(tensor.storage().unsafeGetStorageImpl(), storage);
    EXPECT_EQ(tensor.sizes().vec(), sizes);
    EXPECT_EQ(tensor.strides().vec(), strides);
    EXPECT_EQ(tensor.storage_offset(), offset);
    EXPECT_TRUE(tensor.detach().equal(values));
    if (!leaf) return;
    EXPECT_TRUE(tensor.grad().is_same(grad) || (!grad.defined() && !tensor.grad().defined()));
    EXPECT_TRUE(!grad.defined() || tensor.grad().equal(grad_values));
  }

  Tensor tensor;
  int64_t version;
  const torch::autograd::Node* grad_fn;
  bool requires_grad, leaf;
  const c10::StorageImpl* storage;
  Tensor values;
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  int64_t output_nr;
  Tensor grad, grad_values;
};

TEST(Lifting, NewValuesInTheSameTensor) {  // CAP-05
  auto w = torch::randn({3});
  auto f = [&](const Tensor& x) { return x * w; };
  auto compiled = compile(f);
  auto x = torch::randn({3});
  for (int call = 0; call < 3; ++call) {
    EXPECT_TRUE(same(f(x), compiled(x)));
    w.add_(1);
  }
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Lifting, HeldWeakly) {
  auto w = torch::randn({3});
  auto compiled = compile([&](const Tensor& x) { return w.defined() ? x * w : x.clone(); });
  auto x = torch::randn({3});
  compiled(x);
  EXPECT_EQ(w.use_count(), 1);
  auto weak = c10::weak_intrusive_ptr<c10::TensorImpl>(w.getIntrusivePtr());
  auto storage = c10::weak_intrusive_ptr<c10::StorageImpl>(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(w.storage().unsafeGetStorageImpl()));
  w.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_TRUE(storage.expired());
  EXPECT_TRUE(same(x, compiled(x)));
  EXPECT_TRUE(contains(last_reason(compiled), "captured tensor 0 no longer exists"));
}

TEST(Lifting, FreedOnesMakeRoom) {
  Options options;
  options.max_versions = 2;
  auto x = torch::randn({3});
  Tensor w;
  auto compiled = compile([&](const Tensor& t) { return t * w; }, options);
  for (int call = 0; call < 6; ++call) {
    w = torch::randn({3});  // frees the previous one
    EXPECT_TRUE(same(x * w, compiled(x)));
  }
  EXPECT_EQ(compiled.report().captures, 6u);
}

TEST(Lifting, MetadataIsGuarded) {
  auto w = torch::randn({2, 3});
  auto f = [&](const Tensor& x) { return x + w; };
  auto compiled = compile(f);
  torch::NoGradGuard no_grad;
  auto x = torch::randn({1, 1});
  auto check = [&](const char* reason) {
    EXPECT_TRUE(same(f(x), compiled(x)));
    EXPECT_TRUE(contains(last_reason(compiled), reason));
  };
  check("");
  w.t_();
  check("captured tensor 0 has sizes");
  w.resize_({3, 4}).zero_();
  check("captured tensor 0 has sizes [3, 4]");
  w.set_data(torch::randn({4, 3}).t());
  check("captured tensor 0 has strides");
  w.set_data(torch::randn({4, 3}, at::kDouble).t());
  check("captured tensor 0 has dtype double");
  w.set_requires_grad(true);
  check("captured tensor 0 has requires_grad");
  EXPECT_EQ(compiled.report().captures, 6u);
}

TEST(Lifting, NewDataOfTheSameShapeNeedsNoCapture) {
  auto w = torch::randn({2, 3});
  auto f = [&](const Tensor& x) { return std::pair(x + w, w.t()); };
  auto compiled = compile(f);
  auto x = torch::randn({2, 3});
  compiled(x);
  w.set_data(torch::randn({2, 3}));
  auto out = compiled(x);
  EXPECT_TRUE(same(x + w, out.first));
  EXPECT_TRUE(out.second.is_alias_of(w));
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Lifting, ReturnedItself) {
  auto w = torch::randn({2});
  auto compiled = compile([&](const Tensor& x) { return std::pair(w, x + w); });
  auto x = torch::randn({2});
  for (int call = 0; call < 2; ++call) {
    auto out = compiled(x);
    EXPECT_TRUE(out.first.is_same(w));
    EXPECT_TRUE(same(x + w, out.second));
  }
}

TEST(Lifting, EverythingIsAsBefore) {
  auto leaf = torch::randn({2, 2}).requires_grad_();
  leaf.mutable_grad() = torch::ones({2, 2});
  int hooks = 0;
  leaf.register_hook([&](Tensor g) { return ++hooks, g; });
  auto product = leaf * 2;  // has a grad_fn
  auto view = product.view({4});
  auto buffer = torch::zeros({2, 2});
  auto base = torch::zeros({4});
  auto slice = base.narrow(0, 1, 2);
  for (const bool throws : {false, true}) {
    std::vector<Snapshot> before;
    for (const auto& t : {leaf, product, view, buffer, base, slice}) before.emplace_back(t);
    Options options;
    options.unsupported = Unsupported::Eager;
    auto compiled = compile([&](const Tensor& x) {
      torch::NoGradGuard no_grad;
      auto out = x.matmul(leaf) + product + view.view({2, 2});
      leaf.mul_(2);
      buffer.add_(out);
      slice.fill_(3);
      base[3] = 1;
      if (throws) throw std::logic_error("mine");
      if (x.sum().item<double>() > -1e9)
        return out;  // cannot be captured: the state must be restored before the eager run
      return x;
    });
    auto x = torch::randn({2, 2});
    if (throws)
      EXPECT_THROW(compiled(x), std::logic_error);
    else
      EXPECT_EQ(code_thrown_by([&] { compiled(x); }), ErrorCode::DataRead);
    for (const auto& each : before) each.expect_unchanged();
    EXPECT_EQ(hooks, 0);
  }
  (leaf * 3).sum().backward();  // hooks are still there
  EXPECT_EQ(hooks, 1);
}

TEST(Lifting, UsersExceptionsPassUntouched) {  // ERR-28
  struct Mine {
    int number;
  };
  auto w = torch::zeros({2});
  bool fail = true;
  auto compiled = compile([&](const Tensor& x) {
    w.add_(1);
    if (fail) throw Mine{42};
    return x + w;
  });
  auto x = torch::zeros({2});
  for (int call = 0; call < 2; ++call) {
    try {
      compiled(x);
      FAIL();
    } catch (const Mine& mine) {
      EXPECT_EQ(mine.number, 42);
    }
  }
  EXPECT_EQ(w._version(), 0);
  EXPECT_EQ(compiled.report().captures, 0u);
  fail = false;
  EXPECT_TRUE(same(torch::ones({2}), compiled(x)));
  EXPECT_EQ(w._version(), 1);
}

TEST(Lifting, InPlaceOnCapturedTensors) {  // ALI-13
  auto run = [](bool compile_it) {
    auto count = torch::zeros({}, at::kLong);
    auto buffer = torch::arange(6, at::kFloat).view({2, 3});
    auto column = buffer.select(1, 1);
    auto f = [&](const Tensor& x) {
      count.add_(1);
      buffer.mul_(0.5).add_(x);
      column.sub_(1);
      buffer.t()[0].add_(column);
      return std::pair(buffer.sum(), buffer.view({-1}));
    };
    auto compiled = compile(f);
    std::vector<Tensor> out;
    for (int call = 0; call < 3; ++call) {
      auto x = torch::full({2, 3}, call + 1.0);
      auto [sum, view] = compile_it ? compiled(x) : f(x);
      EXPECT_TRUE(view.is_alias_of(buffer));
      out.push_back(sum);
      out.push_back(view.clone());
      for (const auto& t : {count, buffer, column}) {
        out.push_back(t.clone());
        out.push_back(torch::tensor(t._version()));
      }
    }
    EXPECT_EQ(compiled.report().captures, compile_it ? 1u : 0u);
    return out;
  };
  EXPECT_TRUE(same(run(false), run(true)));
}

TEST(Lifting, CapturedTensorAliasesAnInput) {
  auto base = torch::arange(6, at::kFloat);
  auto eager_base = base.clone();
  auto f = [](const Tensor& w) {
    return [w](const Tensor& x) {
      x.mul_(2);
      return std::pair(w + 1, x.narrow(0, 0, 2));
    };
  };
  auto w = base.narrow(0, 1, 3);
  auto eager = f(eager_base.narrow(0, 1, 3));
  auto compiled = compile(f(w));
  for (int64_t start : {0, 0, 2, 3}) {
    auto x = base.narrow(0, start, 3);
    auto expected = eager(eager_base.narrow(0, start, 3));
    auto out = compiled(x);
    EXPECT_TRUE(same(expected.first, out.first));
    EXPECT_TRUE(same(expected.second, out.second));
    EXPECT_TRUE(out.second.is_alias_of(base));
    EXPECT_TRUE(same_state(eager_base, base));
  }
  auto apart = torch::ones({3});
  auto eager_apart = torch::ones({3});
  EXPECT_TRUE(same(eager(eager_apart).first, compiled(apart).first));
  EXPECT_TRUE(same_state(eager_apart, apart));
}

TEST(Lifting, CapturedTensorIsAlsoAnArgument) {
  auto w = torch::ones({3}), eager_w = torch::ones({3}), other = torch::ones({3});
  auto f = [](const Tensor& weight, const Tensor& x) {
    weight.add_(1);
    return x * 2;
  };
  auto compiled = compile([&](const Tensor& x) { return f(w, x); });
  for (bool itself : {true, false, true}) {
    auto expected = f(eager_w, itself ? eager_w : other);
    EXPECT_TRUE(same(expected, compiled(itself ? w : other)));
    EXPECT_TRUE(same_state(eager_w, w));
  }
}

TEST(Lifting, GradOfLeavesInsideNoGrad) {  // ALI-10
  auto leaf = torch::ones({2}).requires_grad_();
  auto eager_leaf = torch::ones({2}).requires_grad_();
  auto f = [](const Tensor& w, const Tensor& x) {
    torch::NoGradGuard no_grad;
    w.sub_(x);
    return w * 2;
  };
  auto compiled = compile([&](const Tensor& x) { return f(leaf, x); });
  auto x = torch::randn({2});
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(same(f(eager_leaf, x), compiled(x)));
    EXPECT_TRUE(same_state(eager_leaf, leaf));
    EXPECT_TRUE(leaf.is_leaf());
  }
  (leaf * 3).sum().backward();
  EXPECT_TRUE(leaf.grad().equal(torch::full({2}, 3.0)));
}

}  // namespace
}  // namespace antegrad::test
