// The thread that backward passes of compiled functions run on.
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <thread>

#include "cuda/cuda_fixture.h"

namespace antegrad::test {
namespace {

using CudaBackwardThread = CudaTest;

/// Returns the thread on which the gradient of a leaf is computed.
std::thread::id thread_of_hook(const std::function<at::Tensor(const at::Tensor&)>& loss_of) {
  const auto x = cuda_leaf({20});
  std::thread::id id;
  x.register_hook([&id](const at::Tensor&) { id = std::this_thread::get_id(); });
  loss_of(x).backward();
  return id;
}

TEST_F(CudaBackwardThread, IsTheCallersIfThePassBeginsAtACompiledFunction) {
  const auto plain = [](const at::Tensor& x) { return x.exp().sum(); };
  auto f = compile(plain, cuda_options("thread"));
  EXPECT_EQ(thread_of_hook([&](const at::Tensor& x) { return f(x); }), std::this_thread::get_id());
  EXPECT_EQ(thread_of_hook([&](const at::Tensor& x) { return f(x * 2); }), std::this_thread::get_id());
  EXPECT_NE(thread_of_hook(plain), std::this_thread::get_id()) << "eager passes are as they were";
  EXPECT_NE(thread_of_hook([&](const at::Tensor& x) { return f(x) * 2; }), std::this_thread::get_id());
}

TEST_F(CudaBackwardThread, UsesTheStreamsOfTheForwardPass) {
  auto f = compile([](const at::Tensor& x) { return (x.exp() * x).sum(); }, cuda_options("streams"));
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const auto x = cuda_leaf({300});
  for (int i = 0; i < 5; ++i) {
    x.mutable_grad().reset();
    at::Tensor late;
    at::Tensor loss;
    {
      const c10::StreamGuard side(cuda.getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0)));
      auto big = at::randn({2048, 2048}, on_cuda());
      for (int k = 0; k < 4; ++k) big = at::mm(big, big).mul_(1e-3);
      late = x + big.sum() * 0;
      loss = f(late);
    }
    loss.backward();  // on another stream than the forward pass: the engine makes one wait for the other
    EXPECT_TRUE(at::allclose(x.grad(), ((x + 1) * x.exp()).detach(), 1e-4, 1e-5));
  }
  cuda.synchronizeDevice(0);
}

TEST_F(CudaBackwardThread, NestedPassesAndSeveralThreads) {
  auto f = compile([](const at::Tensor& x) { return (x.sin() * x).sum(); }, cuda_options("nested"));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const auto x = cuda_leaf({50}), y = cuda_leaf({50});
      const auto h = x * 2;
      h.register_hook([&](const at::Tensor& gradient) {
        const at::AutoGradMode with_history(true);
        f(y).backward();
        return gradient;
      });
      f(h).backward();
      const auto derivative = [](const at::Tensor& at) { return (at.cos() * at + at.sin()).detach(); };
      right += at::allclose(x.grad(), derivative(x.detach() * 2) * 2, 1e-4, 1e-5) ? 1 : 0;
      right += at::allclose(y.grad(), derivative(y), 1e-4, 1e-5) ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

}  // namespace
}  // namespace antegrad::test
