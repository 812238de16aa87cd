// One compiled function in many threads, first calls included, and many functions captured at once. Also runs
// under ThreadSanitizer (preset tsan).
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

constexpr int kThreads = 8;

/// Runs the body in all threads, which start as simultaneously as possible. An exception in any of them fails
/// the test.
void in_threads(const std::function<void(int)>& body) {
  std::latch start(kThreads);
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      torch::NoGradGuard no_grad;
      start.arrive_and_wait();
      try {
        body(i);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(i)] = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");
}

TEST(Threads, FirstCallsTogether) {
  for (int round = 0; round < 10; ++round) {
    auto w = torch::randn({4, 4});
    std::atomic<int> runs{0};
    auto f = [&](const Tensor& x) { return torch::relu(x.matmul(w)) + 1; };
    auto compiled = compile([&](const Tensor& x) {
      ++runs;
      return f(x);
    });
    std::atomic<int> wrong{0};
    in_threads([&](int i) {
      for (int call = 0; call < 20; ++call) {
        auto x = torch::full({4, 4}, i + 0.25 * call);
        if (!compiled(x).equal(f(x))) ++wrong;
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(compiled.report().captures, 1u);
    EXPECT_EQ(compiled.report().calls, 20u * kThreads);
  }
}

TEST(Threads, EachThreadItsOwnShapeAndNumber) {
  Options options;
  options.max_versions = 2 * kThreads;
  options.dynamic = Dynamic::None;
  auto f = [](const Tensor& x, int64_t n) { return std::pair(x.sum(0) * n, n); };
  auto compiled = compile(f, options);
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    for (int call = 0; call < 30; ++call) {
      auto x = torch::ones({i + 1, 3}) * call;
      auto [sum, n] = compiled(x, int64_t{i % 2});
      if (!sum.equal(f(x, i % 2).first) || n != i % 2) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled.report().captures, static_cast<uint64_t>(kThreads));
}

TEST(Threads, ManyFunctionsAtOnce) {
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::ReLU(), torch::nn::Linear(8, 2));
  net->eval();
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    for (int round = 0; round < 10; ++round) {
      auto compiled = compile([&, round](const Tensor& x) {
        return net->forward(x) * (round + 1) + torch::tensor({i, 1});
      });
      auto x = torch::full({3, 4}, 0.5 * i);
      auto eager = net->forward(x) * (round + 1) + torch::tensor({i, 1});
      for (int call = 0; call < 3; ++call)
        if (!compiled(x).equal(eager)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, CapturesBesideEagerRunsOfTheSameModule) {
  torch::nn::Sequential net(torch::nn::Linear(4, 8), torch::nn::Tanh(), torch::nn::Linear(8, 2));
  std::atomic<int> wrong{0};
  auto x = torch::randn({3, 4});
  torch::NoGradGuard no_grad;
  const auto expected = net->forward(x);
  const auto version = net->parameters()[0]._version();
  in_threads([&](int i) {
    for (int call = 0; call < 100; ++call) {
      const auto out = i % 2 == 0 ? net->forward(x) : compile(net)(x);
      if (!out.equal(expected)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  for (const auto& p : net->parameters()) EXPECT_EQ(p._version(), version);
}

TEST(Threads, WatchedModulesAndReports) {
  torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::BatchNorm1d(4));
  net->eval();
  auto compiled = compile(net);
  auto x = torch::randn({3, 4});
  torch::NoGradGuard no_grad;
  const auto expected = net->forward(x);
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    for (int call = 0; call < 20; ++call) {
      if (i == 0)
        compiled.report(), compiled.graph(), compiled.signature();
      else if (!compiled(x).equal(expected))
        ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled.report().captures, 1u);
}

TEST(Threads, AmbientStateIsTheThreadsOwn) {
  auto f = [](const Tensor& x) { return x * (torch::GradMode::is_enabled() ? 2 : 3); };
  auto compiled = compile(f);
  std::atomic<int> wrong{0};
  auto x = torch::ones({3});
  in_threads([&](int i) {
    torch::AutoGradMode mode(i % 2 == 0);
    for (int call = 0; call < 20; ++call)
      if (!compiled(x).equal(x * (i % 2 == 0 ? 2 : 3))) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(Threads, ErrorsInSomeThreads) {
  auto compiled = compile([](const Tensor& x) { return x.size(0) > 4 ? x + x.sum().item<double>() : x + 1; });
  std::atomic<int> right{0};
  in_threads([&](int i) {
    for (int call = 0; call < 10; ++call) {
      try {
        if (compiled(torch::ones({i + 1})).equal(torch::full({i + 1}, 2.0))) ++right;
      } catch (const Error& error) {
        if (error.code() == ErrorCode::DataRead && i >= 4) ++right;
      }
    }
  });
  EXPECT_EQ(right, 10 * kThreads);
  EXPECT_EQ(compiled.report().captures, 4u);
}

TEST(Threads, CapturedTensorsFreedMeanwhile) {
  Options options;
  options.max_versions = 2 * kThreads;  // each thread may be about to use another tensor
  auto slot = std::make_shared<Tensor>(torch::ones({3}));
  std::mutex mutex;
  auto current = [&] {
    std::scoped_lock lock(mutex);
    return *slot;
  };
  auto compiled = compile([&](const Tensor& x) { return x + current(); }, options);
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    for (int call = 0; call < 30; ++call) {
      if (i == 0) {
        std::scoped_lock lock(mutex);
        *slot = torch::ones({3});
      } else if (!compiled(torch::ones({3})).equal(torch::full({3}, 2.0))) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace antegrad::test
