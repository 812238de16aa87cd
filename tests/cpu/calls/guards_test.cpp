// What leads to a recapture, with its reason, and what does not.
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

/// Enables autocast on the CPU while it lives.
class Autocast {
 public:
  explicit Autocast(at::ScalarType dtype)
      : was_(at::autocast::is_autocast_enabled(at::kCPU)),
        dtype_(at::autocast::get_autocast_dtype(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, was_);
    at::autocast::set_autocast_dtype(at::kCPU, dtype_);
  }

 private:
  bool was_;
  at::ScalarType dtype_;
};

class Deterministic {
 public:
  Deterministic() { at::globalContext().setDeterministicAlgorithms(true, false); }
  ~Deterministic() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

class DefaultDtype {
 public:
  explicit DefaultDtype(at::ScalarType dtype) : was_(c10::get_default_dtype()) {
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(dtype));
  }
  ~DefaultDtype() { c10::set_default_dtype(was_); }

 private:
  caffe2::TypeMeta was_;
};

TEST(Guards, GradMode) {  // CAP-18
  auto f = [](const Tensor& x) { return x * (torch::GradMode::is_enabled() ? 2 : 3); };
  auto compiled = compile(f);
  auto x = torch::randn({3});
  EXPECT_TRUE(same(x * 2, compiled(x)));
  {
    torch::NoGradGuard no_grad;
    EXPECT_TRUE(same(x * 3, compiled(x)));
  }
  EXPECT_TRUE(contains(last_reason(compiled), "grad mode was true and is false"));
  EXPECT_TRUE(same(x * 2, compiled(x)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Guards, InferenceMode) {  // CAP-22
  auto f = [](const Tensor& x) {
    return std::pair(torch::linear(x, x) * (c10::InferenceMode::is_enabled() ? 2 : 3), x.t());
  };
  auto compiled = compile(f);
  torch::NoGradGuard no_grad;
  auto x = torch::randn({3, 3});
  EXPECT_TRUE(same(f(x).first, compiled(x).first));
  {
    c10::InferenceMode inference;
    auto eager = f(x);
    auto out = compiled(x);
    EXPECT_TRUE(same(eager.first, out.first));
    EXPECT_TRUE(same(eager.second, out.second));
    EXPECT_TRUE(contains(last_reason(compiled), "inference mode was false and is true"));
    EXPECT_EQ(compiled.report().captures, 2u);
    auto made_here = torch::randn({3, 3});  // an inference tensor is guarded as another kind of tensor
    EXPECT_TRUE(same(f(made_here).first, compiled(made_here).first));
    EXPECT_EQ(compiled.report().captures, 3u);
  }
  EXPECT_TRUE(same(f(x).first, compiled(x).first));
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST(Guards, Autocast) {  // CAP-29, CAP-30
  auto w = torch::randn({4, 4});
  auto f = [&](const Tensor& x) {
    return torch::log_softmax(torch::einsum("ij,jk->ik", {x.matmul(w).exp(), w}), 1);
  };
  auto compiled = compile(f);
  torch::NoGradGuard no_grad;
  auto x = torch::randn({4, 4});
  auto check = [&](uint64_t captures) {
    EXPECT_TRUE(same(f(x), compiled(x)));
    EXPECT_EQ(compiled.report().captures, captures);
  };
  check(1);
  {
    Autocast autocast(at::kBFloat16);
    check(2);
    EXPECT_TRUE(contains(last_reason(compiled), "autocast was false and is true"));
    EXPECT_EQ(x.matmul(w).scalar_type(), at::kBFloat16);
    check(2);
  }
  check(2);
  {
    Autocast autocast(at::kHalf);
    check(3);
    EXPECT_TRUE(contains(last_reason(compiled), "the autocast dtype was BFloat16 and is Half"));
  }
  {
    Autocast autocast(at::kBFloat16);
    check(3);
  }
}

TEST(Guards, AutocastInsideTheFunction) {
  auto f = [](const Tensor& x) {
    Autocast autocast(at::kBFloat16);
    return x.matmul(x);
  };
  auto compiled = compile(f);
  torch::NoGradGuard no_grad;
  auto x = torch::randn({4, 4});
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same(f(x), compiled(x)));
  EXPECT_EQ(compiled(x).scalar_type(), at::kBFloat16);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(Guards, DefaultDtype) {
  auto f = [](const Tensor& x) { return torch::ones({2}) + torch::arange(2) * 0.5 + x; };
  auto compiled = compile(f);
  auto x = torch::tensor({1, 2});
  EXPECT_TRUE(same(f(x), compiled(x)));
  {
    DefaultDtype dtype(at::kDouble);
    EXPECT_TRUE(same(f(x), compiled(x)));
    EXPECT_EQ(compiled(x).scalar_type(), at::kDouble);
    EXPECT_TRUE(contains(last_reason(compiled), "the default dtype was Float and is Double"));
  }
  EXPECT_TRUE(same(f(x), compiled(x)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Guards, DeterministicFlag) {
  auto f = [](const Tensor& x, const Tensor& index) { return x.index_put({index}, torch::ones({3}), true); };
  auto compiled = compile(f);
  auto x = torch::zeros({5});
  auto index = torch::tensor({1, 1, 3});
  EXPECT_TRUE(same(f(x, index), compiled(x, index)));
  {
    Deterministic on;
    EXPECT_TRUE(same(f(x, index), compiled(x, index)));
    EXPECT_TRUE(contains(last_reason(compiled), "the deterministic flag was false and is true"));
  }
  EXPECT_TRUE(same(f(x, index), compiled(x, index)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Guards, ShapesStridesDtypes) {
  auto f = [](const Tensor& x) { return x + 1; };
  Options options;
  options.dynamic = Dynamic::None;
  auto compiled = compile(f, options);
  auto x = torch::randn({2, 3});
  auto call = [&](const Tensor& t) {
    EXPECT_TRUE(same(f(t), compiled(t)));
    return last_reason(compiled);
  };
  EXPECT_EQ(call(x), "");
  EXPECT_EQ(call(torch::randn({2, 3})), "");
  EXPECT_TRUE(contains(call(torch::randn({3, 2})), "tensor 0 has sizes [3, 2], had [2, 3]"));
  EXPECT_TRUE(contains(call(torch::randn({2, 3}).t()), "tensor 0 has strides [1, 3], had [2, 1]"));
  EXPECT_TRUE(contains(call(torch::randn({2, 3, 1})), "sizes"));
  EXPECT_TRUE(contains(call(x.unsqueeze(2).to(at::kDouble)), "dtype double, had float"));
  EXPECT_TRUE(contains(call(torch::randn({0, 3, 1})), "sizes"));
  EXPECT_EQ(compiled.report().captures, 6u);
  call(x);
  EXPECT_EQ(compiled.report().captures, 6u);
  // A storage offset does not matter to a function that returns no views.
  call(torch::randn({4, 3}).narrow(0, 1, 2));
  EXPECT_EQ(compiled.report().captures, 6u);
}

TEST(Guards, StorageOffsetsOfViews) {
  auto f = [](const Tensor& x) {
    return x.as_strided({2}, {1}, 1);
  };  // the offset counts from the start of the storage
  auto compiled = compile(f);
  auto base = torch::arange(8);
  for (int64_t start : {0, 3, 0}) {
    auto x = base.narrow(0, start, 4);
    auto out = compiled(x);
    EXPECT_TRUE(same(f(x), out));
    EXPECT_TRUE(out.is_alias_of(base));
  }
}

TEST(Guards, RequiresGrad) {  // ALI-49, CAP-21
  auto f = [](const Tensor& x) { return x * (x.requires_grad() ? 2 : 3); };
  auto compiled = compile(f);
  torch::NoGradGuard no_grad;
  auto plain = torch::randn({2});
  auto leaf = torch::randn({2}).requires_grad_();
  EXPECT_TRUE(same(plain * 3, compiled(plain)));
  EXPECT_TRUE(same(leaf * 2, compiled(leaf)));
  EXPECT_TRUE(contains(last_reason(compiled), "tensor 0 has requires_grad"));
  EXPECT_TRUE(same(plain * 3, compiled(plain)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Guards, ConjugateAndNegativeBits) {
  auto f = [](const Tensor& x) { return x * 2; };
  auto compiled = compile(f);
  auto z = torch::randn({3}, at::kComplexFloat);
  for (const auto& t : {z, z.conj(), torch::imag(z.conj()), torch::imag(z), z.conj().clone(), z.conj()})
    EXPECT_TRUE(same(f(t), compiled(t)));
  EXPECT_EQ(compiled.report().captures, 4u);
}

TEST(Guards, WrappedNumbersAreNotTensors) {
  auto f = [](const Tensor& x, const Tensor& n) { return x + n; };
  auto compiled = compile(f);
  auto x = torch::ones({2});
  auto number = at::native::wrapped_scalar_tensor(2.5);
  auto tensor = torch::tensor(2.5, at::kDouble);
  auto ints = torch::ones({2}, at::kInt);
  for (const auto& t : {number, tensor, number}) {
    EXPECT_TRUE(same(f(x, t), compiled(x, t)));
    EXPECT_TRUE(same(f(ints, t), compiled(ints, t)));
  }
  EXPECT_EQ(compiled.report().captures, 4u);
}

TEST(Guards, OverlapOfWrittenInputs) {  // ALI-45, ALI-46, ALI-47
  auto f = [](const Tensor& a, const Tensor& b) {
    a.add_(1);
    return b * 2;
  };
  auto compiled = compile(f);
  auto run = [&](int64_t a, int64_t b, bool shared) {
    auto base = torch::arange(10, at::kFloat), other = torch::arange(10, at::kFloat);
    auto eager_base = base.clone(), eager_other = other.clone();
    auto out = compiled(base.narrow(0, a, 4), (shared ? base : other).narrow(0, b, 4));
    EXPECT_TRUE(
        same(f(eager_base.narrow(0, a, 4), (shared ? eager_base : eager_other).narrow(0, b, 4)), out));
    EXPECT_TRUE(same_state(eager_base, base));
    EXPECT_TRUE(same_state(eager_other, other));
    return compiled.report().captures;
  };
  EXPECT_EQ(run(0, 0, false), 1u);
  EXPECT_EQ(run(0, 5, true), 1u);  // one storage, no overlap
  EXPECT_EQ(run(0, 2, true), 2u);
  EXPECT_TRUE(contains(last_reason(compiled), "overlap"));
  EXPECT_EQ(run(1, 3, true), 2u);  // the same overlap elsewhere
  EXPECT_EQ(run(0, 3, true), 3u);
  EXPECT_EQ(run(2, 0, true), 4u);
  EXPECT_EQ(run(0, 0, false), 4u);
  auto reader = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  auto base = torch::arange(10);
  for (int64_t b : {0, 2, 5})
    EXPECT_TRUE(same(base.narrow(0, 0, 4) + base.narrow(0, b, 4),
                     reader(base.narrow(0, 0, 4), base.narrow(0, b, 4))));
  EXPECT_EQ(reader.report().captures, 1u);
}

/// A program whose structure depends on the number.
Tensor repeated(Tensor x, int64_t times) {
  for (int64_t i = 0; i <= times; ++i) x = x * 2;
  return x;
}

TEST(Guards, LeastRecentlyUsedVersionIsDropped) {
  Options options;
  options.max_versions = 2;
  auto compiled = compile(repeated, options);
  const auto x = torch::ones({2});
  const auto call = [&](int64_t times) {
    EXPECT_TRUE(same(repeated(x, times), compiled(x, times))) << times;
  };
  for (int64_t times : {0, 1, 0, 2}) call(times);  // 1 is dropped
  EXPECT_EQ(compiled.report().captures, 3u);
  EXPECT_EQ(compiled.report().dropped_versions, 1u);
  EXPECT_TRUE(contains(compiled.report().recapture_reasons.back(),
                       "(the least recently used of 2 versions is dropped)"));
  for (int64_t times : {0, 2, 0, 2}) call(times);
  EXPECT_EQ(compiled.report().captures, 3u);
  call(1);
  EXPECT_EQ(compiled.report().captures, 4u);
  EXPECT_EQ(compiled.report().dropped_versions, 2u);
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

TEST(Guards, VersionsThatAreNeverUsedAgainEndInEagerCallsIfAllowed) {
  Options options;
  options.max_versions = 2;
  options.unsupported = Unsupported::Eager;
  auto compiled = compile(repeated, options);
  const auto x = torch::ones({2});
  for (int64_t times = 0; times < 8; ++times) EXPECT_TRUE(same(repeated(x, times), compiled(x, times)));
  EXPECT_EQ(compiled.report().captures, 4u);
  EXPECT_EQ(compiled.report().dropped_versions, 2u);
  EXPECT_EQ(compiled.report().eager_calls, 4u);
}

TEST(Guards, ReasonsCompareWithTheNearestVersion) {
  const auto f = [](const Tensor& x, const Tensor& y, bool negate, int64_t times) {
    return repeated(negate ? -x : x, times) + y;
  };
  auto compiled = compile(f);
  const auto x = torch::randn({3});
  const auto call = [&](const Tensor& y, bool negate, int64_t times) {
    EXPECT_TRUE(same(f(x, y, negate, times), compiled(x, y, negate, times)));
    const auto reasons = compiled.report().recapture_reasons;
    return reasons.empty() ? std::string() : reasons.back();
  };
  call(torch::randn({3}), false, 1);
  call(torch::randn({3}, torch::kDouble), true, 2);
  EXPECT_EQ(call(torch::randn({3}), false, 3), "argument 3 is the integer 3, was 1");
  EXPECT_EQ(call(torch::randn({3}, torch::kDouble), true, 5), "argument 3 is the integer 5, was 2");
  EXPECT_EQ(call(torch::ones({3}, torch::kInt), true, 5), "tensor 1 has dtype int, had double");
  EXPECT_TRUE(contains(call(torch::randn({3}), true, 3), "is 1, was 0"));
}

TEST(Guards, MaxVersions) {
  Options options;
  options.max_versions = 2;
  options.drop_versions = false;
  options.name = "many";
  auto f = [](const Tensor& x, int64_t n) { return repeated(x, n); };
  auto compiled = compile(f, options);
  auto x = torch::ones({2});
  compiled(x, int64_t{0});
  compiled(x, int64_t{1});
  EXPECT_EQ(code_thrown_by([&] { compiled(x, int64_t{2}); }), ErrorCode::TooManyVersions);
  EXPECT_TRUE(same(f(x, 1), compiled(x, int64_t{1})));  // existing versions still work
  options.unsupported = Unsupported::Eager;
  auto eager = compile(f, options);
  for (int64_t n : {0, 1, 2, 3, 0}) EXPECT_TRUE(same(f(x, n), eager(x, n)));
  EXPECT_EQ(eager.report().captures, 2u);
  EXPECT_EQ(eager.report().eager_calls, 2u);
  ASSERT_EQ(eager.report().eager_reasons.size(), 2u);  // with 2 and with 3
  EXPECT_TRUE(contains(eager.report().eager_reasons[0], "'many' was captured 2 times"));
}

}  // namespace
}  // namespace antegrad::test
