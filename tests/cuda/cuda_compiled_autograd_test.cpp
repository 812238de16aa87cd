// Compiled autograd over tensors on a CUDA device.
#include <antegrad/grad.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "cuda/cuda_fixture.h"

namespace antegrad::test {
namespace {

class CudaCompiledAutograd : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    compiled_autograd::reset();
  }
  static void synchronize() { c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(0); }
  static c10::Stream side_stream() {
    return c10::impl::VirtualGuardImpl(c10::kCUDA).getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0));
  }
  /// Runs a function that calls backward(), without and with compiled autograd, which must not leave the pass
  /// to LibTorch's engine.
  static void same_as_eager(const std::function<Tensors()>& function) {
    for (int call = 0; call < 3; ++call) {
      manual_seed(static_cast<uint64_t>(call));
      const auto eager = function();
      manual_seed(static_cast<uint64_t>(call));
      const CompiledAutograd on;
      EXPECT_EQ(difference(eager, function()), std::nullopt) << "call " << call;
    }
    const auto stats = compiled_autograd::stats();
    EXPECT_GE(stats.passes, 3U);
    EXPECT_EQ(stats.eager, 0U) << (stats.eager_reasons.empty() ? "" : stats.eager_reasons.front());
    EXPECT_GE(stats.captures, 1U);
    EXPECT_LE(stats.captures, 2U);
  }
};

at::Tensor net(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  return at::layer_norm(at::gelu(at::addmm(b, x, w)) + x, {x.size(-1)});
}

TEST_F(CudaCompiledAutograd, OfEagerOps) {
  same_as_eager([] {
    const auto x = cuda_leaf({30, 48}), w = cuda_leaf({48, 48}), b = cuda_leaf({48});
    net(x, w, b).softmax(-1).pow(2).mean().backward();
    return Tensors{x.grad(), w.grad(), b.grad()};
  });
}

TEST_F(CudaCompiledAutograd, OfCompiledFunctionsBetweenEagerOps) {
  auto f = compile(net, cuda_options("inner"));
  same_as_eager([&] {
    const auto x = cuda_leaf({30, 48}), w = cuda_leaf({48, 48}), b = cuda_leaf({48});
    at::mse_loss(f(f(x.tanh(), w, b), w, b).sigmoid(), x.detach()).backward();
    return Tensors{x.grad(), w.grad(), b.grad()};
  });
}

TEST_F(CudaCompiledAutograd, AccumulatesIntoExistingGradients) {
  const auto w = cuda_leaf({64, 16});
  same_as_eager([&] {
    w.mutable_grad().reset();
    for (int i = 0; i < 3; ++i) (w * 3).sin().sum().backward();
    return Tensors{w.grad().clone()};
  });
}

TEST_F(CudaCompiledAutograd, WithNumbersOnTheCpu) {
  same_as_eager([] {
    const auto x = cuda_leaf({40}), scale = at::randn({}).requires_grad_(true);
    (x.exp() * scale).sum().backward();
    return Tensors{x.grad(), scale.grad()};
  });
}

TEST_F(CudaCompiledAutograd, WithHooks) {
  same_as_eager([] {
    const auto x = cuda_leaf({40}), w = cuda_leaf({40});
    x.register_hook([](const at::Tensor& gradient) { return gradient * 2; });
    const auto h = (x * w).sin();
    h.register_hook(traceable([](const at::Tensor& gradient) { return gradient.clamp(-0.5, 0.5); }));
    h.retain_grad();
    (h * w).sum().backward();
    return Tensors{x.grad(), w.grad(), h.grad()};
  });
}

TEST_F(CudaCompiledAutograd, OnASideStream) {
  const c10::StreamGuard side(side_stream());
  same_as_eager([] {
    auto big = at::randn({2048, 2048}, on_cuda());
    for (int k = 0; k < 4; ++k) big = at::mm(big, big).mul_(1e-3);  // others would not wait for it
    const auto x = (at::randn({500}, on_cuda()) + big.sum() * 0).requires_grad_(true);
    (x.exp() * x).sum().backward();
    return Tensors{x.grad()};
  });
  synchronize();
}

TEST_F(CudaCompiledAutograd, LeavesOtherStreamsToTheEngine) {
  const CompiledAutograd on;
  const auto x = cuda_leaf({500});
  at::Tensor loss;
  {
    const c10::StreamGuard side(side_stream());
    loss = (x * x.exp()).sum();
  }
  synchronize();
  loss.backward();
  synchronize();
  EXPECT_TRUE(at::allclose(x.grad(), ((x + 1) * x.exp()).detach(), 1e-4, 1e-5));
  const auto stats = compiled_autograd::stats();
  EXPECT_EQ(stats.eager, 1U);
  ASSERT_EQ(stats.eager_reasons.size(), 1U);
  EXPECT_NE(stats.eager_reasons[0].find("another stream"), std::string::npos) << stats.eager_reasons[0];
}

TEST_F(CudaCompiledAutograd, AFailedPassLeavesTheNextAlone) {
  const CompiledAutograd on;
  const auto x = cuda_leaf({20});
  const auto y = x.exp().sum();
  y.backward();
  EXPECT_ANY_THROW(y.backward()) << "its saved tensors are gone";
  const auto z = cuda_leaf({20});
  z.exp().sum().backward();
  EXPECT_TRUE(at::allclose(z.grad(), z.exp().detach()));
}

}  // namespace
}  // namespace antegrad::test
