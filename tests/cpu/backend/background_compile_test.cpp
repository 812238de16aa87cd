// Compile::Background: calls run uncompiled until there is code, and no effect of a call is lost. Also
// progress reports.
#include <ATen/autocast_mode.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace antegrad::test {
namespace {

using at::Tensor;
using namespace std::chrono_literals;

Options in_background() {
  Options options;
  options.compile = Compile::Background;
  options.cache = Cache::Off;
  return options;
}

Tensor some_net(const Tensor& x, const Tensor& w) { return at::softmax(at::mm(x, w).tanh(), 1) * 2; }

/// Calls until compiled code serves a call.
template <class Call>
void call_until_compiled(const Call& call, const std::function<Report()>& report) {
  for (int i = 0; i < 20000; ++i) {
    const auto waiting = report().waiting_calls;
    call();
    if (report().waiting_calls == waiting) return;
    std::this_thread::sleep_for(5ms);
  }
  FAIL() << "it is never compiled";
}

TEST(BackgroundCompile, RunsEagerlyUntilThereIsCode) {
  const auto compiled = compile(some_net, in_background());
  const auto w = torch::randn({8, 4}).set_requires_grad(true);
  const auto call = [&] {
    const auto x = torch::randn({3, 8});
    const auto weight = w.detach().set_requires_grad(true);
    const auto expected = some_net(x, weight);
    const auto result = compiled(x, w);
    EXPECT_TRUE(at::allclose(expected, result, 1e-5, 1e-6));
    EXPECT_TRUE(result.requires_grad());
    w.mutable_grad() = Tensor();
    expected.pow(2).sum().backward();
    result.pow(2).sum().backward();
    EXPECT_TRUE(at::allclose(weight.grad(), w.grad(), 1e-4, 1e-5));
  };
  call_until_compiled(call, [&] { return compiled.report(); });
  const auto report = compiled.report();
  EXPECT_GE(report.waiting_calls, 1u);
  EXPECT_EQ(report.captures, 1u);
  EXPECT_EQ(report.eager_calls, 0u);
  EXPECT_NE(compiled.backward_graph(), "");
}

/// Blocks a compilation until open() is called.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
};

TEST(BackgroundCompile, NoCallWaits) {
  Gate gate;
  auto options = in_background();
  options.progress = [&](const Progress& progress) {
    if (progress.stage == "plan") gate.wait();
  };
  const auto compiled = compile(some_net, options);
  const auto x = torch::randn({3, 8}), w = torch::randn({8, 4});
  compiled(x, w);
  gate.wait_until_reached();
  for (int i = 0; i < 10; ++i) compiled(x, w);  // would hang if calls waited
  EXPECT_EQ(compiled.report().waiting_calls, 11u);
  gate.open();
  call_until_compiled([&] { compiled(x, w); }, [&] { return compiled.report(); });
}

TEST(BackgroundCompile, AFunctionThatIsDestroyedWhileItIsCompiled) {
  Gate gate;
  std::atomic<bool> opened = false;
  std::jthread opener;
  {
    auto options = in_background();
    options.progress = [&](const Progress& progress) {
      if (progress.stage == "plan") gate.wait();
    };
    const auto compiled = compile(some_net, options);
    compiled(torch::randn({3, 8}), torch::randn({8, 4}));
    gate.wait_until_reached();
    opener = std::jthread([&] {
      std::this_thread::sleep_for(20ms);
      opened = true;
      gate.open();
    });
  }
  EXPECT_TRUE(opened);  // the destructor waited for the running compilation
}

/// Captures run on the calling thread: a training step that runs at the same time would write to the captured
/// tensors and be undone.
TEST(BackgroundCompile, TheCallCapturesAndTrainingGoesOnMeanwhile) {
  Gate gate;
  std::atomic<int> elsewhere = 0;
  auto options = in_background();
  options.progress = [&, here = std::this_thread::get_id()](const Progress& progress) {
    if (progress.stage == "capture" && std::this_thread::get_id() != here) ++elsewhere;
    if (progress.stage == "plan") gate.wait();
  };
  const auto w = torch::randn({8, 4}).set_requires_grad(true), u = w.detach().clone().set_requires_grad(true);
  const auto compiled = compile([&](const Tensor& x) { return some_net(x, w).pow(2).sum(); }, options);
  const auto step = [&](const Tensor& x) {
    compiled(x).backward();
    some_net(x, u).pow(2).sum().backward();
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : {w, u}) parameter.sub_(parameter.grad(), 0.1);
  };
  step(torch::randn({3, 8}));
  gate.wait_until_reached();
  for (int i = 0; i < 3; ++i) step(torch::randn({3, 8}));
  const auto gradient = w.grad();
  gate.open();
  call_until_compiled([&] { step(torch::randn({3, 8})); }, [&] { return compiled.report(); });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_TRUE(w.grad().is_same(gradient));
  EXPECT_EQ(w._version(), u._version());
  EXPECT_TRUE(at::allclose(w, u, 1e-4, 1e-5));
}

/// A version whose last guard fails does not serve the call, in whatever way the call is served.
TEST(BackgroundCompile, CodeForInputsThatShareMemoryServesNoOthers) {
  const auto add_to_second = [](const Tensor& a, const Tensor& b) {
    b.add_(1);
    return a * 2;
  };
  const auto compiled = compile(add_to_second, in_background());
  const auto x = torch::zeros({3});
  call_until_compiled([&] { compiled(x, x.view({3})); }, [&] { return compiled.report(); });
  const auto a = torch::ones({3}), b = torch::ones({3});
  EXPECT_TRUE(compiled(a, b).equal(torch::full({3}, 2.0F)));
  EXPECT_TRUE(a.equal(torch::ones({3})));
  EXPECT_TRUE(b.equal(torch::full({3}, 2.0F)));
}

TEST(BackgroundCompile, NorDoesItServeCallsThatRunEagerly) {
  Options options;
  options.max_versions = 1;
  options.drop_versions = false;
  options.unsupported = Unsupported::Eager;
  const auto add_to_second = [](const Tensor& a, const Tensor& b) {
    b.add_(1);
    return a * 2;
  };
  const auto compiled = compile(add_to_second, options);
  const auto x = torch::zeros({3});
  compiled(x, x.view({3}));
  const auto a = torch::ones({3}), b = torch::ones({3});
  EXPECT_TRUE(compiled(a, b).equal(torch::full({3}, 2.0F)));
  EXPECT_TRUE(a.equal(torch::ones({3})));
  EXPECT_EQ(compiled.report().eager_calls, 1u);
}

TEST(BackgroundCompile, SecondDerivatives) {
  const auto cube = [](const Tensor& x) { return x.pow(3); };
  const auto compiled = compile(cube, in_background());
  const auto call = [&] {
    const auto x = torch::full({2}, 2.0).set_requires_grad(true);
    const auto first = torch::autograd::grad({compiled(x).sum()}, {x}, {}, true, true)[0];
    EXPECT_TRUE(at::allclose(first, torch::full({2}, 12.0)));
    EXPECT_TRUE(at::allclose(torch::autograd::grad({first.sum()}, {x})[0], torch::full({2}, 12.0)));
  };
  call_until_compiled(call, [&] { return compiled.report(); });
}

/// The uncompiled call would make its argument require a gradient, so its version is made within the call.
TEST(BackgroundCompile, ArgumentsThatTheCallChanges) {
  const auto add_weight = [](Tensor x, const Tensor& w) {
    x.add_(w);
    return x * 2;
  };
  const auto compiled = compile(add_weight, in_background());
  for (int i = 0; i < 4; ++i) {
    const auto w = torch::full({2}, 3.0).set_requires_grad(true);
    const auto x = torch::ones({2});
    const auto y = compiled(x, w);
    EXPECT_TRUE(x.requires_grad());
    EXPECT_TRUE(torch::autograd::grad({y.sum()}, {w})[0].equal(torch::full({2}, 2.0F)));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_EQ(compiled.report().waiting_calls, 0u);
}

TEST(BackgroundCompile, ArgumentsThatTheCallerChanges) {
  const auto compiled = compile([](const Tensor& x, const Tensor& w) { return x * w; }, in_background());
  const auto w = torch::ones({2}).set_requires_grad(true);
  for (int i = 0; i < 20; ++i) {
    const auto x = torch::ones({2});
    const auto y = compiled(x, w);
    x.set_requires_grad(true);  // while code may be compiled for one that does not
    const auto z = compiled(x, w);
    EXPECT_TRUE(torch::autograd::grad({z.sum()}, {x})[0].equal(torch::ones({2})));
    std::this_thread::sleep_for(2ms);
  }
}

TEST(BackgroundCompile, WhatCannotBeCapturedIsThrownByTheCall) {
  const auto compiled = compile([](const Tensor& x) { return x * x.sum().item<float>(); }, in_background());
  for (int i = 0; i < 2; ++i) {
    try {
      compiled(torch::ones({3}));
      ADD_FAILURE() << "nothing is thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DataRead);
    }
  }
}

TEST(BackgroundCompile, WhatCannotBeCompiledIsThrownByALaterCall) {
  auto options = in_background();
  std::atomic<bool> stop = true;
  options.progress = [&](const Progress& progress) {
    if (stop && progress.stage == "plan") throw std::runtime_error("stopped by the user");
  };
  const auto compiled = compile(some_net, options);
  const auto x = torch::randn({3, 8}), w = torch::randn({8, 4});
  compiled(x, w);
  bool thrown = false;
  for (int i = 0; i < 20000 && !thrown; ++i) {
    try {
      compiled(x, w);
      std::this_thread::sleep_for(5ms);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "stopped by the user");
      thrown = true;
    }
  }
  EXPECT_TRUE(thrown);
  stop = false;
  call_until_compiled([&] { compiled(x, w); }, [&] { return compiled.report(); });
}

TEST(BackgroundCompile, OtherSizesAndAutocastAreMadeInTheBackgroundToo) {
  const auto compiled = compile(some_net, in_background());
  const auto w = torch::randn({8, 4});
  for (int64_t rows : {3, 5, 7, 9}) {
    const auto x = torch::randn({rows, 8});
    call_until_compiled([&] { EXPECT_TRUE(at::allclose(compiled(x, w), some_net(x, w), 1e-5, 1e-6)); },
                        [&] { return compiled.report(); });
  }
  EXPECT_EQ(compiled.report().captures, 2u);  // the second is over symbols
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  call_until_compiled(
      [&] {
        EXPECT_EQ(compiled(torch::randn({3, 8}), w).scalar_type(),
                  some_net(torch::randn({3, 8}), w).scalar_type());
      },
      [&] { return compiled.report(); });
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
}

TEST(CompileProgress, TellsStagesInOrder) {
  std::vector<std::string> stages;
  size_t kernels = 0;
  Options options;
  options.name = "net";
  options.cache = Cache::Off;
  options.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.function, "net");
    EXPECT_LE(progress.done, progress.total);
    if (stages.empty() || stages.back() != progress.stage) stages.emplace_back(progress.stage);
    if (progress.stage == "kernels") kernels = progress.done;
  };
  const auto compiled =
      compile([](const Tensor& x) { return (x.sin() * 3.25).cumsum(0).exp() - 0.125; }, options);
  compiled(torch::randn({17}));
  ASSERT_GE(stages.size(), 2u);
  EXPECT_EQ(stages[0], "capture");
  EXPECT_EQ(stages[1], "plan");
  if (stages.size() > 2) EXPECT_GT(kernels, 0u);
  stages.clear();
  compiled(torch::randn({17}));
  EXPECT_TRUE(stages.empty());
}

TEST(CompileProgress, WhatItThrowsEndsTheCompilation) {
  Options options;
  options.cache = Cache::Off;
  bool stop = true;
  options.progress = [&](const Progress&) {
    if (stop) throw std::runtime_error("stopped by the user");
  };
  const auto compiled = compile(some_net, options);
  const auto x = torch::randn({3, 8}), w = torch::randn({8, 4});
  EXPECT_THROW(compiled(x, w), std::runtime_error);
  stop = false;
  EXPECT_TRUE(at::allclose(compiled(x, w), some_net(x, w), 1e-5, 1e-6));
}

}  // namespace
}  // namespace antegrad::test
