// How compiled functions run on a CUDA device: streams, threads, memory, errors.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <thread>

#include "cuda/cuda_fixture.h"

namespace antegrad::test {
namespace {

class CudaRuntime : public CudaTest {
 protected:
  static void synchronize() { c10::impl::VirtualGuardImpl(c10::kCUDA).synchronizeDevice(0); }
};

at::Tensor chain(const at::Tensor& x, const at::Tensor& w) {
  return ((at::layer_norm(at::gelu(x * w), {x.size(-1)}) * w).softmax(-1) * x).sum();
}

TEST_F(CudaRuntime, RunsOnTheCallersStream) {
  auto f = compile(chain, cuda_options("stream"));
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const auto x = cuda_leaf({300, 700}), w = cuda_leaf({700});
  const auto expected = chain(x, w);
  synchronize();
  for (int i = 0; i < 20; ++i) {
    const c10::StreamGuard side(cuda.getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0)));
    // Long work first: a kernel on another stream would not wait for it, and read x before it is written.
    auto big = at::randn({2048, 2048}, on_cuda());
    for (int k = 0; k < 4; ++k) big = at::mm(big, big).mul_(1e-3);
    const auto late = (x.detach() + big.sum() * 0).requires_grad_(true);
    const auto y = f(late, w);
    EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-5));
    y.backward();
    EXPECT_TRUE(late.grad().defined());
    synchronize();
  }
}

TEST_F(CudaRuntime, TwoThreadsShareAFunction) {
  auto f = compile(chain, cuda_options("threads"));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
      const c10::StreamGuard own(cuda.getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0)));
      for (int i = 0; i < 10; ++i) {
        const auto x = cuda_leaf({40, 128}), w = cuda_leaf({128});
        const auto gradients = torch::autograd::grad({f(x, w)}, {x, w});
        const auto expected = torch::autograd::grad({chain(x, w)}, {x, w});
        for (size_t k = 0; k < 2; ++k)
          if (!at::allclose(gradients[k], expected[k], 1e-3, 1e-5)) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CudaRuntime, SizesMayChange) {
  auto f = compile(chain, cuda_options("sizes"));
  for (const int64_t n : {5, 6, 7, 64, 1, 333, 1000}) {
    const auto x = cuda_leaf({n, 96}), w = cuda_leaf({96});
    EXPECT_TRUE(at::allclose(f(x, w), chain(x, w), 1e-4, 1e-5)) << n;
    const auto gradients = torch::autograd::grad({f(x, w)}, {x, w});
    const auto expected = torch::autograd::grad({chain(x, w)}, {x, w});
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(at::allclose(gradients[k], expected[k], 1e-3, 1e-5)) << n;
  }
  EXPECT_LE(f.report().captures, 4U);
}

TEST_F(CudaRuntime, SecondDerivatives) {
  const auto energy = [](const at::Tensor& x) {
    return (x.tanh() * x.pow(2).sum(1, true).add(1).sqrt()).sum();
  };
  auto f = compile(energy, cuda_options("second"));
  const auto x = cuda_leaf({50, 3});
  const auto both = [&](const auto& function) {
    const auto force = torch::autograd::grad({function(x)}, {x}, {}, true, /*create_graph=*/true)[0];
    return torch::autograd::grad({force.pow(2).sum()}, {x})[0];
  };
  EXPECT_TRUE(at::allclose(both(f), both(energy), 1e-3, 1e-4));
}

TEST_F(CudaRuntime, OutOfMemoryLeavesInputsAlone) {
  auto options = cuda_options("memory");
  auto f = compile(
      [](at::Tensor x, const at::Tensor& y) {
        x.add_(1);
        return ((x.unsqueeze(1) * y.unsqueeze(0)).exp() * 2 + 1).tanh();
      },
      options);
  auto x = at::zeros({100}, on_cuda());
  const auto y = at::zeros({100}, on_cuda());
  f(x, y);
  EXPECT_EQ(x.sum().item<float>(), 100);
  // 4 TB: no device has as much.
  auto large = at::zeros({1 << 20}, on_cuda());
  const auto other = at::zeros({1 << 20}, on_cuda());
  EXPECT_ANY_THROW(f(large, other));
  EXPECT_EQ(large.sum().item<float>(), 0);
  f(x, y);
  EXPECT_EQ(x.sum().item<float>(), 200);
}

TEST_F(CudaRuntime, AnIndexErrorIsThrownByALaterCall) {
  if (!generates_kernels()) GTEST_SKIP() << "LibTorch's kernels assert, which ends the use of the device";
  auto f = compile(
      [](const at::Tensor& table, const at::Tensor& index) { return at::embedding(table, index) * 2 + 1; },
      cuda_options("index"));
  const auto table = at::randn({10, 8}, on_cuda());
  const auto good = at::arange(10, on_cuda(at::kLong)), bad = good + 5;
  const auto expected = f(table, good);
  const auto wrong = f(table, bad);
  synchronize();
  EXPECT_TRUE(wrong.slice(0, 5).isnan().all().item<bool>()) << "what the bad indices select";
  EXPECT_TRUE(at::equal(wrong.slice(0, 0, 5), expected.slice(0, 5)));
  try {
    f(table, good);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find("aten.embedding"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("index 1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("size 10"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(at::equal(f(table, good), expected)) << "the context survives";
  f(table, bad);
  EXPECT_THROW(check_errors(), Error);
  EXPECT_NO_THROW(check_errors());
}

TEST_F(CudaRuntime, AnIndexErrorOfAScatterShowsInItsResult) {
  if (!generates_kernels()) GTEST_SKIP() << "LibTorch's kernels assert, which ends the use of the device";
  auto f =
      compile([](const at::Tensor& x, const at::Tensor& index,
                 const at::Tensor& v) { return at::index_put(x, {index}, v * 2, /*accumulate=*/true).sum(); },
              cuda_options("scatter"));
  const auto x = at::randn({10}, on_cuda()), v = at::randn({20}, on_cuda());
  const auto sum = f(x, at::full({20}, 12, on_cuda(at::kLong)), v);
  EXPECT_TRUE(sum.isnan().item<bool>());
  EXPECT_THROW(check_errors(), Error);
}

/// The functions of the CUDA runtime that capture what a stream gets, found in what LibTorch has loaded.
struct GraphFunctions {
  template <class F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }
  int (*begin)(void*, int) = find<int(void*, int)>("cudaStreamBeginCapture");
  int (*end)(void*, void**) = find<int(void*, void**)>("cudaStreamEndCapture");
  int (*instantiate)(void**, void*, unsigned long long) =
      find<int(void**, void*, unsigned long long)>("cudaGraphInstantiate");
  int (*launch)(void*, void*) = find<int(void*, void*)>("cudaGraphLaunch");
};

TEST_F(CudaRuntime, IsPartOfAGraphThatTheCallerCaptures) {
  const GraphFunctions cuda_graph;
  if (cuda_graph.begin == nullptr || cuda_graph.instantiate == nullptr) GTEST_SKIP() << "missing: libcudart";
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const auto stream = cuda.getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0));
  const c10::StreamGuard side(stream);
  auto* const native = cuda.getStreamNativeHandle(stream);
  const at::NoGradGuard no_grad;
  auto f = compile(chain, cuda_options("graph"));
  const auto x = at::randn({40, 128}, on_cuda()), w = at::randn({128}, on_cuda());
  for (int i = 0; i < 3; ++i) f(x, w);  // loads everything, and leaves memory in the allocator
  constexpr int kRelaxed = 2;
  ASSERT_EQ(cuda_graph.begin(native, kRelaxed), 0);
  const auto y = f(x, w);
  void *graph = nullptr, *executable = nullptr;
  ASSERT_EQ(cuda_graph.end(native, &graph), 0);
  ASSERT_EQ(cuda_graph.instantiate(&executable, graph, 0), 0);
  for (int i = 0; i < 3; ++i) {
    x.copy_(at::randn({40, 128}, on_cuda()));
    const auto expected = chain(x, w);
    ASSERT_EQ(cuda_graph.launch(executable, native), 0);
    EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-5)) << i;
  }
}

/// What the engine's thread for the device drops late, because it has to wait for a processor, is not kept.
TEST_F(CudaRuntime, CapturesOnABusyMachine) {
  std::atomic<bool> done = false;
  std::vector<std::thread> load;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    load.emplace_back([&] {
      while (!done) {
      }
    });
  for (int i = 0; i < 20; ++i) {
    auto f = compile([i](const at::Tensor& x, const at::Tensor& w) { return chain(x, w) * (i + 1); },
                     cuda_options(c10::str("busy ", i)));
    const auto x = cuda_leaf({4, 16}), w = cuda_leaf({16});
    try {
      f(x, w).backward();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
      break;
    }
    EXPECT_EQ(f.report().eager_calls, 0U);
  }
  done = true;
  for (auto& thread : load) thread.join();
}

TEST_F(CudaRuntime, TheDeterministicFlagOfTheCallHoldsForItsBackwardPass) {
  const auto table = cuda_leaf({3, 8});
  const auto index = at::randint(0, 3, {50'000}, on_cuda(at::kLong));
  const auto weights = at::randn({50'000, 8}, on_cuda());
  auto f = compile([](const at::Tensor& t, const at::Tensor& i,
                      const at::Tensor& w) { return (at::embedding(t, i) * w).sum(); },
                   cuda_options("flag"));
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  const auto y = f(table, index, weights);
  at::globalContext().setDeterministicAlgorithms(false, false);
  // Makes the backward pass of this version. LibTorch's op for it obeys the flag of this moment, as in eager.
  const auto without_flag = torch::autograd::grad({y}, {table})[0];
  at::globalContext().setDeterministicAlgorithms(true, true);
  const auto gradient = [&] { return torch::autograd::grad({f(table, index, weights)}, {table})[0]; };
  const auto first = gradient();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(at::equal(gradient(), first)) << i;
  EXPECT_TRUE(at::allclose(without_flag, first, 1e-3, 1e-2));
  EXPECT_TRUE(
      at::equal(torch::autograd::grad({(at::embedding(table, index) * weights).sum()}, {table})[0], first))
      << "LibTorch's op gives eager's bits";
  at::globalContext().setDeterministicAlgorithms(false, false);
}

/// Gradients of leaves are set without the engine, as the engine would: new ones, then sums, on side streams.
TEST_F(CudaRuntime, GradientsOfLeavesAddUp) {
  auto f = compile(chain, cuda_options("leaves"));
  const c10::impl::VirtualGuardImpl cuda(c10::kCUDA);
  const auto x = cuda_leaf({60, 64}), w = cuda_leaf({64});
  const auto expected = torch::autograd::grad({chain(x, w)}, {x, w});
  f(x, w).backward();
  EXPECT_TRUE(at::allclose(x.grad(), expected[0], 1e-3, 1e-5));
  synchronize();
  {
    const c10::StreamGuard side(cuda.getStreamFromGlobalPool(c10::Device(c10::kCUDA, 0)));
    auto big = at::randn({2048, 2048}, on_cuda());
    for (int k = 0; k < 4; ++k) big = at::mm(big, big).mul_(1e-3);
    const auto scale = big.sum() * 0 + 1;
    (f(x, w) * scale).backward();
    EXPECT_TRUE(at::allclose(x.grad(), expected[0] * 2, 1e-3, 1e-5));
    EXPECT_TRUE(at::allclose(w.grad(), expected[1] * 2, 1e-3, 1e-5));
  }
  synchronize();
  f(x, w).backward();
  EXPECT_TRUE(at::allclose(w.grad(), expected[1] * 3, 1e-3, 1e-5));
}

TEST_F(CudaRuntime, OutputsAreFresh) {
  auto f = compile([](const at::Tensor& x) { return x * 2 + 1; }, cuda_options("fresh"));
  const auto x = at::randn({5000}, on_cuda());
  const auto first = f(x), second = f(x);
  EXPECT_NE(first.data_ptr(), second.data_ptr());
  EXPECT_TRUE(at::equal(first, x * 2 + 1));
  EXPECT_TRUE(at::equal(second, first));
}

TEST_F(CudaRuntime, ComparesKernelsWithLibTorch) {
  auto options = cuda_options("compare");
  options.debug_compare = true;
  auto f = compile(chain, options);
  const auto x = cuda_leaf({30, 70}), w = cuda_leaf({70});
  EXPECT_NO_THROW(f(x, w).backward());
  EXPECT_TRUE(x.grad().defined());
}

TEST_F(CudaRuntime, DeterministicAlgorithms) {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  auto f = compile([](const at::Tensor& x, const at::Tensor& index,
                      const at::Tensor& v) { return at::index_put(x, {index}, v, /*accumulate=*/true) * 2; },
                   cuda_options("deterministic"));
  const auto x = at::zeros({4}, on_cuda()), v = at::randn({100'000}, on_cuda());
  const auto index = at::randint(0, 4, {100'000}, on_cuda(at::kLong));
  const auto first = f(x, index, v);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(at::equal(f(x, index, v), first));
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST_F(CudaRuntime, RecurrentNetsRunOrAreRefused) {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(8, 16));
  lstm->to(at::kCUDA);
  auto options = cuda_options("lstm");
  options.watch = {lstm};
  auto f = compile([&](const at::Tensor& x) { return std::get<0>(lstm->forward(x)).sum(); }, options);
  const auto x = cuda_leaf({5, 3, 8});
  try {
    const auto y = f(x);
    EXPECT_TRUE(at::allclose(y, std::get<0>(lstm->forward(x)).sum(), 1e-3, 1e-4));
  } catch (const Error& error) {  // LibTorch sets storages while it flattens the weights
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedArgument) << error.what();
    EXPECT_NE(std::string(error.what()).find("nn::LSTM"), std::string::npos) << error.what();
  }
  options.unsupported = Unsupported::Eager;
  auto g = compile([&](const at::Tensor& x) { return std::get<0>(lstm->forward(x)).sum(); }, options);
  EXPECT_TRUE(at::allclose(g(x), std::get<0>(lstm->forward(x)).sum(), 1e-3, 1e-4));
}

TEST_F(CudaRuntime, PrecisionFlagsAreGuarded) {
  auto f = compile([](const at::Tensor& a, const at::Tensor& b) { return at::mm(a, b) * 2; },
                   cuda_options("tf32"));
  const auto a = at::randn({256, 256}, on_cuda()), b = at::randn({256, 256}, on_cuda());
  const auto exact = f(a, b);
  at::globalContext().setFloat32MatmulPrecision("high");
  EXPECT_TRUE(at::equal(f(a, b), at::mm(a, b) * 2));
  at::globalContext().setFloat32MatmulPrecision("highest");
  EXPECT_TRUE(at::equal(f(a, b), exact));
}

}  // namespace
}  // namespace antegrad::test
