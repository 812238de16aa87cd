// The engine that keeps backward passes of compiled functions on the calling thread leaves everything else to
// LibTorch's. That they stay there on a CUDA device is tested in tests/cuda.
#include "runtime/calling_thread.h"

#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/engine.h>

#include <thread>

#include "support/training_like_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using torch::autograd::Engine;

bool may_use_threads() { return c10::AutogradState::get_tls_state().get_multithreading_enabled(); }

class CallingThread : public ::testing::Test {
 protected:
  void SetUp() override { runtime::run_passes_on_calling_thread(); }
  static Tensor leaf() { return torch::randn({6}).requires_grad_(true); }
};

Tensor cube(const Tensor& x) { return (x * x * x).sum(); }

TEST_F(CallingThread, OnlyPassesThatBeginAtACompiledFunctionStayThere) {
  auto f = compile(cube);
  const auto threads_in_pass = [](const Tensor& x, const Tensor& loss) {
    bool allowed = false;
    const auto hook = x.register_hook([&](const Tensor&) { allowed = may_use_threads(); });
    loss.backward();
    x.remove_hook(hook);
    return allowed;
  };
  const auto x = leaf();
  EXPECT_FALSE(threads_in_pass(x, f(x)));
  EXPECT_TRUE(may_use_threads()) << "as before the pass";
  EXPECT_TRUE(threads_in_pass(x, f(x) * 2));
  EXPECT_TRUE(threads_in_pass(x, cube(x)));
}

TEST_F(CallingThread, IsLeftAsItWasWhenAPassThrows) {
  auto f = compile(cube);
  const auto x = leaf();
  x.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("a hook"); });
  EXPECT_THROW(f(x).backward(), std::runtime_error);
  EXPECT_TRUE(may_use_threads());
  const auto y = leaf();
  f(y).backward();
  EXPECT_TRUE(at::allclose(y.grad(), 3 * y.detach() * y.detach()));
}

TEST_F(CallingThread, CallbacksAndNestedPasses) {
  auto f = compile(cube);
  const auto x = leaf(), y = leaf();
  int calls = 0;
  x.register_hook([&](const Tensor&) {
    Engine::get_default_engine().queue_callback([&] { ++calls; });
    const at::AutoGradMode with_history(true);
    f(y).backward();
    cube(y).backward();
  });
  f(x).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(at::allclose(y.grad(), 6 * y.detach() * y.detach()));
  EXPECT_TRUE(Engine::get_default_engine().is_checkpoint_valid());
}

TEST_F(CallingThread, GradAndSecondDerivatives) {
  auto f = compile(cube);
  const auto x = leaf();
  const auto first = torch::autograd::grad({f(x)}, {x}, {}, true, true)[0];
  const auto second = torch::autograd::grad({first.sum()}, {x})[0];
  EXPECT_TRUE(at::allclose(second, 6 * x.detach()));
}

TEST_F(CallingThread, ManyThreads) {
  auto f = compile(cube);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto x = leaf();
        (i % 2 == 0 ? f(x) : f(x.exp()) * 2).backward();
        right += x.grad().defined() && may_use_threads() ? 1 : 0;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 6 * 20);
}

}  // namespace
}  // namespace antegrad::test
