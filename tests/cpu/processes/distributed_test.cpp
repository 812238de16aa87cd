// Collectives and data parallel training with several processes on this machine, joined by Gloo.
#include <antegrad/antegrad.h>
#include <antegrad/distributed.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/processes.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using distributed::Group;
using distributed::Reduce;

Group join(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  return distributed::gloo(meeting_file(), own_rank(), number_of_processes(),
                           {.name = "test", .timeout = timeout, .host = "127.0.0.1"});
}

/// Returns tensors that all processes know: the same numbers for the same `which`.
Tensor numbers(int64_t which, at::IntArrayRef sizes) {
  torch::manual_seed(100 + static_cast<uint64_t>(which));
  return torch::randn(sizes, torch::kFloat64);
}

void expect_close(const Tensor& actual, const Tensor& expected, const char* what) {
  EXPECT_TRUE(at::allclose(actual, expected, 1e-9, 1e-11)) << what << "\n" << actual << "\n" << expected;
}

void run_processes(const std::string& test, int64_t count) {
  if (!distributed::available()) GTEST_SKIP() << "missing: c10d with Gloo";
  Processes(test, count).expect_success();
}

/// A collective of one tensor as the function of all processes' tensors that it is.
struct Collective {
  const char* name;
  std::function<Tensor(const Tensor&, const Group&)> own;             ///< in a process
  std::function<Tensor(const std::vector<Tensor>&, int64_t)> of_all;  ///< what process r gets
};

std::vector<Collective> collectives() {
  using Tensors = std::vector<Tensor>;
  const auto part = [](const Tensor& x, int64_t r, size_t n) {
    return x.chunk(static_cast<int64_t>(n))[static_cast<size_t>(r)];
  };
  return {
      {"all_reduce", [](const Tensor& x, const Group& g) { return distributed::all_reduce(x, g); },
       [](const Tensors& all, int64_t) { return at::stack(all).sum(0); }},
      {"average",
       [](const Tensor& x, const Group& g) { return distributed::all_reduce(x, g, Reduce::Average); },
       [](const Tensors& all, int64_t) { return at::stack(all).mean(0); }},
      {"all_gather", [](const Tensor& x, const Group& g) { return distributed::all_gather(x, g); },
       [](const Tensors& all, int64_t) { return at::cat(all); }},
      {"reduce_scatter", [](const Tensor& x, const Group& g) { return distributed::reduce_scatter(x, g); },
       [part](const Tensors& all, int64_t r) { return part(at::stack(all).sum(0), r, all.size()); }},
      {"all_to_all", [](const Tensor& x, const Group& g) { return distributed::all_to_all(x, g); },
       [part](const Tensors& all, int64_t r) {
         Tensors parts;
         for (const auto& x : all) parts.push_back(part(x, r, all.size()));
         return at::cat(parts);
       }},
      {"broadcast", [](const Tensor& x, const Group& g) { return distributed::broadcast(x, 1, g); },
       [](const Tensors& all, int64_t) { return all[1].clone(); }},
  };
}

/// The gradient of the sum of all processes' losses, and of the sum of its squares, for process r's tensor.
TEST(DistributedRank, DISABLED_Collectives) {
  const auto group = join();
  const auto rank = static_cast<size_t>(group.rank());
  const auto cubes = [](const Tensor& y) { return (y * y * y).sum(); };
  for (const auto& one : collectives())
    for (const bool compiles : {false, true}) {
      std::vector<Tensor> all;
      for (int64_t r = 0; r < group.size(); ++r) all.push_back(numbers(r, {4, 3}).requires_grad_());
      Tensor total;
      std::vector<Tensor> results;
      for (int64_t r = 0; r < group.size(); ++r) {
        std::vector<Tensor> sines;
        for (const auto& x : all) sines.push_back(x.sin());
        results.push_back(one.of_all(sines, r));
        total = total.defined() ? total + cubes(results.back()) : cubes(results.back());
      }
      for (const auto& x : all) total = total + 0 * (x * x).sum();  // broadcast does not read all of them
      const auto gradients = torch::autograd::grad({total}, all, {}, true, true);
      Tensor squares;
      for (const auto& g : gradients) squares = squares.defined() ? squares + (g * g).sum() : (g * g).sum();
      const auto seconds = torch::autograd::grad({squares}, all);

      const auto own = [&](const Tensor& x) { return one.own(x.sin(), group); };
      auto compiled = compile(own);
      const auto x = numbers(group.rank(), {4, 3}).requires_grad_();
      const auto y = compiles ? compiled(x) : own(x);
      expect_close(y, results[rank], one.name);
      const auto gradient = torch::autograd::grad({cubes(y)}, {x}, {}, true, true)[0];
      expect_close(gradient, gradients[rank], one.name);
      expect_close(torch::autograd::grad({(gradient * gradient).sum()}, {x})[0], seconds[rank], one.name);
      if (!compiles) continue;
      expect_close(torch::autograd::grad({cubes(compiled(x))}, {x})[0], gradients[rank], one.name);
      EXPECT_EQ(compiled.report().captures, 1U);
    }
}

TEST(Distributed, CollectivesAndTheirDerivativesWithTwo) {
  run_processes("DistributedRank.DISABLED_Collectives", 2);
}
TEST(Distributed, CollectivesAndTheirDerivativesWithFour) {
  run_processes("DistributedRank.DISABLED_Collectives", 4);
}

/// Only process 0 captures while the other is elsewhere: it would wait if the capture communicated.
TEST(DistributedRank, DISABLED_Capture) {
  const auto group = join();
  auto compiled = compile([&](const Tensor& x) { return distributed::all_reduce(x * 2, group) + 1; });
  const auto x = torch::ones({3});
  if (group.rank() == 0) {
    const auto text = compiled.explain(x).forward;
    EXPECT_NE(text.find("ordered(\"group:test\")"), std::string::npos) << text;
  }
  expect_close(compiled(x), torch::full({3}, 2.0F * static_cast<float>(group.size()) + 1), "all_reduce");
}
TEST(Distributed, CapturesDoNotCommunicate) { run_processes("DistributedRank.DISABLED_Capture", 2); }

struct Net : torch::nn::Module {
  Net() {
    register_module("first", first);
    register_module("second", second);
  }
  Tensor forward(const Tensor& x) { return second(torch::tanh(first(x))); }
  torch::nn::Linear first{5, 7}, second{7, 2};
};

Tensor loss_of(Net& net, const Tensor& x) { return net.forward(x).square().mean(); }

/// Trains on a share of the batch, and checks the parameters against training on the whole batch.
TEST(DistributedRank, DISABLED_Training) {
  const auto group = join();
  for (const int64_t bucket_bytes : {8, 120, 1 << 20}) {
    torch::manual_seed(7);
    auto whole = std::make_shared<Net>();
    torch::manual_seed(7 + static_cast<uint64_t>(group.rank()));
    auto net = std::make_shared<Net>();
    whole->to(torch::kFloat64);
    net->to(torch::kFloat64);
    distributed::broadcast_parameters(*net, group);
    Options options;
    options.gradients = AllReduce(group, {.bucket_bytes = bucket_bytes});
    auto compiled = compile([net](const Tensor& x) { return loss_of(*net, x); }, options);
    torch::optim::SGD own(net->parameters(), 0.1), reference(whole->parameters(), 0.1);
    for (int64_t step = 0; step < 3; ++step) {
      const auto batch = numbers(10 + step, {4 * group.size(), 5});
      reference.zero_grad();
      loss_of(*whole, batch).backward();
      reference.step();
      own.zero_grad();
      compiled(batch.narrow(0, 4 * group.rank(), 4)).backward();
      own.step();
    }
    for (size_t i = 0; i < net->parameters().size(); ++i)
      expect_close(net->parameters()[i], whole->parameters()[i], "parameter");
    const auto gradient = net->parameters()[0].grad();
    EXPECT_EQ(gradient.storage().nbytes() > gradient.nbytes(), bucket_bytes > 400)
        << "gradients are views of buckets";
  }
}
TEST(Distributed, DataParallelTrainingWithTwo) { run_processes("DistributedRank.DISABLED_Training", 2); }
TEST(Distributed, DataParallelTrainingWithFour) { run_processes("DistributedRank.DISABLED_Training", 4); }

TEST(DistributedRank, DISABLED_Disagreement) {
  const auto group = join();
  const bool first = group.rank() == 0;
  auto compiled = compile([&](const Tensor& x) { return distributed::all_reduce(x, group); });
  try {
    compiled(torch::ones({first ? 3 : 4}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::GraphChanged) << error.what();
    EXPECT_NE(std::string(error.what())
                  .find("is about to communicate\nall_reduce f32[" + std::string(first ? "4" : "3")),
              std::string::npos)
        << error.what();
  }
}
TEST(Distributed, ProcessesThatDisagreeSaySo) { run_processes("DistributedRank.DISABLED_Disagreement", 2); }

/// Trains until a process dies, which must be an error in the others.
TEST(DistributedRank, DISABLED_Forever) {
  const auto group = join(std::chrono::seconds(15));
  auto net = std::make_shared<Net>();
  Options options;
  options.gradients = AllReduce(group);
  auto compiled = compile([net](const Tensor& x) { return loss_of(*net, x); }, options);
  try {
    for (int64_t step = 0;; ++step) {
      compiled(torch::ones({4, 5})).backward();
      if (step == 2) std::cout << "running" << std::endl;
    }
  } catch (const std::exception& error) {
    std::cout << "stopped: " << error.what() << std::endl;
  }
}
TEST(Distributed, AProcessThatDiesIsAnErrorInTheOthers) {
  if (!distributed::available()) GTEST_SKIP() << "missing: c10d with Gloo";
  Processes processes("DistributedRank.DISABLED_Forever", 2);
  for (int i = 0; i < 400 && processes.output(1).find("running") == std::string::npos; ++i) ::usleep(100'000);
  ASSERT_NE(processes.output(1).find("running"), std::string::npos) << processes.output(1);
  processes.kill(1);
  EXPECT_EQ(processes.status(1), -SIGKILL);
  EXPECT_EQ(processes.status(0), 0) << processes.output(0);
  EXPECT_NE(processes.output(0).find("stopped: "), std::string::npos) << processes.output(0);
}

TEST(DistributedRank, DISABLED_Late) {
  if (own_rank() == 1) return;
  try {
    join(std::chrono::seconds(1));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
  }
}
TEST(Distributed, AProcessThatNeverComesIsAnErrorInTheOthers) {
  run_processes("DistributedRank.DISABLED_Late", 2);
}

TEST(Distributed, WrongOptionsAreRefused) {
  struct {
    std::string name() const { return "nobody"; }
    int64_t size() const { return 2; }
  } group;
  const auto text_of = [&](Options options) -> std::string {
    options.gradients = AllReduce(group);
    try {
      compile([](const Tensor& x) { return x; }, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  Options eager, background;
  eager.unsupported = Unsupported::Eager;
  background.compile = Compile::Background;
  EXPECT_NE(text_of(eager).find("Set Options::unsupported to Error"), std::string::npos);
  EXPECT_NE(text_of(background).find("Set Options::compile to Blocking"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::test
