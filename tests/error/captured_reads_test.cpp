// Pointers to the memory of tensors that the function reaches without receiving them as arguments: what is
// read through them would become a constant of the graph. ERR-16.
#include <atomic>
#include <thread>

#include "error/expect_error.h"

namespace antegrad::test {
namespace {

using at::Tensor;

template <class F>
void expect_refused(const F& read) {
  auto x = torch::randn({3});
  auto outer = torch::tensor({2.0F, 3.0F});
  auto compiled = compile([&](const Tensor& a) {
    a.mul_(2);
    return a * read(outer);
  });
  for (int i = 0; i < 2; ++i)
    expect_error(ErrorCode::DataRead, "capture:data_ptr", "memory of a tensor of shape [2] from outside",
                 {x, outer}, [&] { compiled(x); });
  EXPECT_EQ(compiled.report().captures, 0U);
}

TEST(CapturedReads, AreRefusedWhateverThePointerComesFrom) {
  expect_refused([](const Tensor& t) { return t.data_ptr<float>()[1]; });
  expect_refused([](const Tensor& t) { return t.const_data_ptr<float>()[1]; });
  expect_refused([](const Tensor& t) { return t.mutable_data_ptr<float>()[1]; });
  expect_refused([](const Tensor& t) { return *static_cast<float*>(t.data_ptr()); });
  expect_refused([](const Tensor& t) { return *static_cast<const float*>(t.const_data_ptr()); });
  expect_refused([](const Tensor& t) { return t.accessor<float, 1>()[1]; });
  expect_refused([](const Tensor& t) { return t.packed_accessor32<float, 1>()[1]; });
}

TEST(CapturedReads, AreRefusedForTensorsThatOpsUseToo) {
  expect_refused([](const Tensor& t) { return t.sum() * t.data_ptr<float>()[0]; });
  expect_refused([](const Tensor& t) {
    t.add_(1);
    return t.data_ptr<float>()[0];
  });
}

TEST(CapturedReads, AreRefusedWhenTheFunctionCatchesTheError) {
  expect_refused([](const Tensor& t) {
    try {
      return t.accessor<float, 1>()[0];
    } catch (const std::exception&) {
      return 1.0F;
    }
  });
}

TEST(CapturedReads, InACustomBackwardAreRefused) {
  static auto& factor = *new Tensor(torch::tensor({2.0F, 3.0F}));
  struct Scaled : torch::autograd::Function<Scaled> {
    static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x * 2; }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::tensor_list& grads) {
      return {grads[0] * factor.data_ptr<float>()[1]};
    }
  };
  auto x = torch::randn({3}).requires_grad_();
  auto compiled = compile([](const Tensor& a) { return Scaled::apply(a); });
  expect_error(ErrorCode::DataRead, "capture:data_ptr", "from outside through a pointer", {x},
               [&] { compiled(x); });
}

TEST(CapturedReads, OfTensorsThatTheFunctionHasStoredAreRefused) {
  Tensor table;
  Options options;
  options.unsupported = Unsupported::Eager;
  auto compiled = compile(
      [&](const Tensor& a) {
        if (!table.defined()) return a * (table = torch::full({2}, 3.0)).sum();
        return a * table.data_ptr<float>()[0];
      },
      options);
  const auto x = torch::ones({3});
  EXPECT_TRUE(compiled(x).equal(x * 6));
  EXPECT_TRUE(compiled(x).equal(x * 3));
  table.fill_(5);
  EXPECT_TRUE(compiled(x).equal(x * 5));
}

TEST(CapturedReads, SeeTheContentsOfEachCallWithAWayOut) {
  for (const auto unsupported : {Unsupported::Eager, Unsupported::Break}) {
    auto outer = torch::tensor({2.0F, 3.0F});
    Options options;
    options.unsupported = unsupported;
    auto compiled =
        compile([&](const Tensor& a) { return (a + 1) * outer.accessor<float, 1>()[1]; }, options);
    const auto x = torch::ones({3});
    for (int call = 0; call < 4; ++call) {
      outer[1] = static_cast<float>(call);
      EXPECT_TRUE(compiled(x).equal((x + 1) * static_cast<float>(call)));
    }
  }
}

/// What LibTorch and antegrad read themselves, and what the host may read, is no error.
TEST(CapturedReads, OtherAccessesAreNone) {
  auto outer = torch::tensor({2.0F, 3.0F, 4.0F}), other = outer.clone();
  auto compiled = compile([&](const Tensor& a) {
    const std::vector<float> values{1, 2, 3};
    auto made = torch::empty({3});
    made.accessor<float, 1>()[0] = 1;
    made.accessor<float, 1>()[1] = made.accessor<float, 1>()[2] = 2;
    const bool shared = outer.is_alias_of(other) || outer.storage().is_alias_of(other.storage());
    return a * outer + torch::tensor(values) * 2.5 + made + (shared ? 1 : 0) + 2.0;
  });
  const auto x = torch::ones({3});
  EXPECT_TRUE(compiled(x).equal(torch::tensor({7.5F, 12.0F, 15.5F})));
  EXPECT_EQ(compiled.report().captures, 1U);
}

// --- what is registered on such tensors

TEST(CapturedReads, HooksOfCapturedTensorsAreRefused) {
  auto leaf = torch::randn({3}).requires_grad_();
  auto inner = leaf * 2;
  const auto x = torch::ones({3});
  auto hooked = compile([&](const Tensor& a) {
    leaf.register_hook([](const Tensor& gradient) { return gradient * 2; });
    return a * leaf;
  });
  expect_error(ErrorCode::UnsupportedOp, "capture:hook", "the function calls register_hook()", {x, leaf},
               [&] { hooked(x); });
  auto retained = compile([&](const Tensor& a) {
    inner.retain_grad();
    return a * inner;
  });
  expect_error(ErrorCode::UnsupportedOp, "capture:hook", "the function calls retain_grad()", {x, inner},
               [&] { retained(x); });
  EXPECT_FALSE(inner.retains_grad());
}

TEST(CapturedReads, HooksAreRegisteredByEachCallWithAWayOut) {
  for (const auto unsupported : {Unsupported::Eager, Unsupported::Break}) {
    auto leaf = torch::ones({3}).requires_grad_();
    Options options;
    options.unsupported = unsupported;
    auto compiled = compile(
        [&](const Tensor& a) {
          leaf.register_hook([](const Tensor& gradient) { return gradient * 2; });
          return a * leaf;
        },
        options);
    const auto x = torch::ones({3});
    for (int call = 1; call <= 3; ++call) {
      leaf.mutable_grad() = Tensor();
      compiled(x).sum().backward();
      EXPECT_EQ(leaf.grad()[0].item<float>(), static_cast<float>(1 << call));
    }
  }
}

TEST(CapturedReads, OfOtherThreadsAreNotNoticed) {
  auto outer = torch::tensor({2.0F, 3.0F});
  std::atomic<bool> done = false;
  float sum = 0;
  std::thread reader([&] {
    while (!done) sum += outer.data_ptr<float>()[1];
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(compile([&](const Tensor& a) { return a * outer.sum(); })(torch::ones({3}))
                    .equal(torch::full({3}, 5.0F)));
  done = true;
  reader.join();
}

}  // namespace
}  // namespace antegrad::test
