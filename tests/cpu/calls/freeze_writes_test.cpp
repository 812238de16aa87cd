// Options::freeze: writes to constants are noticed, and constants hold wherever a frozen function is called.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>

#include "support/frozen.h"
#include "support/same_as_eager.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Forward = std::function<Tensor(const Tensor&)>;

class FreezeWrites : public ::testing::Test {
 protected:
  void SetUp() override { test::manual_seed(12); }
  torch::NoGradGuard no_grad_;
};

struct Write {
  const char* name;
  std::function<void(Tensor&)> run;
};

TEST_F(FreezeWrites, AreNoticedHoweverTheyAreMade) {
  const std::vector<Write> writes = {
      {"one element",
       [](Tensor& w) {
         w.index_put_({3, 1}, 9);
       }},
      {"copy_",
       [](Tensor& w) {
         w.copy_(torch::randn({40, 6}));
       }},
      {"of a view", [](Tensor& w) { w.select(0, 17).narrow(0, 2, 1).fill_(5); }},
      {"of an alias", [](Tensor& w) { w.detach()[17][2] = 8; }},
      {"foreach", [](Tensor& w) { at::_foreach_mul_({w}, 1.5); }},
      {"out", [](Tensor& w) { at::sin_out(w, w); }},
      {"inference mode",
       [](Tensor& w) {
         const c10::InferenceMode inference;
         w[17][2] = 6;
       }},
      {"data", [](Tensor& w) { w.data().mul_(0.5); }},
      {"set_data", [](Tensor& w) { w.set_data(w + 1); }},
      {"set_data with other values where the samples lie not",
       [](Tensor& w) {
         auto other = w.clone();
         other[17][2] = 4;
         w.set_data(other);
       }},
      {"set_",
       [](Tensor& w) {
         w.set_(torch::randn({40, 6}));
       }},
      {"another memory format", [](Tensor& w) { w.set_data((w * 2).t().contiguous().t()); }},
      {"swap of objects",
       [](Tensor& w) {
         w = torch::randn({40, 6});
       }},
  };
  for (const auto& write : writes) {
    auto weight = torch::randn({40, 6});
    const Forward function = [&](const Tensor& x) { return x.matmul(weight.sin()); };
    const auto compiled = compile(function, frozen());
    const auto x = torch::randn({4, 40});
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(same(function(x), compiled(x))) << write.name;
      EXPECT_TRUE(same(function(x), compiled(x))) << write.name;
      write.run(weight);
    }
  }
}

TEST_F(FreezeWrites, ThroughDataAreNoticedInSmallTensorsAndAtTheEnds) {
  for (int64_t n : {1, 2, 5, 8, 1000}) {
    const auto table = torch::randn({n});
    const Forward function = [&](const Tensor& x) { return x * table.exp(); };
    const auto compiled = compile(function, frozen());
    const auto x = torch::randn({n});
    EXPECT_TRUE(same(function(x), compiled(x)));
    for (int64_t i = 0; i < n; i += n <= 8 ? 1 : n - 1) {
      table.data()[i] = 3;
      EXPECT_TRUE(same(function(x), compiled(x))) << i << " of " << n;
    }
  }
}

TEST_F(FreezeWrites, StepsOfOptimizersAreNoticedWhereOneRowHasAGradient) {
  torch::nn::Embedding table(torch::nn::EmbeddingOptions(100, 6));
  const Forward function = [&](const Tensor& tokens) { return at::embedding(table->weight.sin(), tokens); };
  const auto compiled = compile(function, frozen());
  torch::optim::SGD optimizer(table->parameters(), 0.5);
  const auto tokens = torch::tensor({int64_t{17}});
  for (int step = 0; step < 3; ++step) {
    EXPECT_TRUE(same(function(tokens), compiled(tokens))) << step;
    const torch::AutoGradMode grad_mode(true);
    optimizer.zero_grad(step != 1);
    table->forward(tokens).sum().backward();
    optimizer.step();
  }
  EXPECT_TRUE(same(function(tokens), compiled(tokens)));
}

TEST_F(FreezeWrites, ByTheFunctionThroughAnArgument) {
  const auto weight = torch::randn({4, 4});
  const Forward function = [&](const Tensor& x) {
    x.mul_(2);
    return x.matmul(weight.sin());
  };
  const auto compiled = compile(function, frozen());
  const auto call_with = [&](const Tensor& x) {
    const auto before = weight.clone(), x_before = x.clone();
    const auto expected = function(x);
    weight.data().copy_(before);
    x.data().copy_(x_before);
    EXPECT_TRUE(same(expected, compiled(x)));
  };
  call_with(torch::randn({4, 4}));
  call_with(weight);
  call_with(weight.t());
  call_with(weight.data());
  call_with(torch::randn({4, 4}));
  call_with(torch::randn({2, 4}));
}

TEST_F(FreezeWrites, BetweenBranchesRegionsAndGraphBreaks) {
  const auto weight = torch::randn({40, 6});
  const Forward breaks = [&](const Tensor& x) {
    auto y = x.matmul(weight.sin());
    if (y.sum().item<float>() > 0) y = y * 2;
    return y.tanh().matmul(weight.t().exp());
  };
  auto options = frozen();
  options.unsupported = Unsupported::Break;
  const auto compiled = compile(breaks, options);
  const Forward plain = [&](const Tensor& x) { return x.matmul(weight.cos()) * 3; };
  const auto inner = compile(plain, frozen());
  const Forward outer = [&](const Tensor& x) { return inner(x).relu() + weight.sum().exp(); };
  const auto nested = compile(outer, Options());
  const auto nested_frozen = compile(outer, frozen());
  const auto eager_outer = [&](const Tensor& x) { return plain(x).relu() + weight.sum().exp(); };
  for (int round = 0; round < 4; ++round) {
    for (int64_t rows : {4, 7, 9}) {
      const auto x = torch::randn({rows, 40});
      EXPECT_TRUE(same(breaks(x), compiled(x))) << round;
      EXPECT_TRUE(same(eager_outer(x), nested(x))) << round;
      EXPECT_TRUE(same(eager_outer(x), nested_frozen(x))) << round;
      EXPECT_TRUE(same(plain(x), inner(x))) << round;
    }
    weight[17][2] += 1;
  }
}

TEST_F(FreezeWrites, InTheBackgroundAndInThreads) {
  const auto weight = torch::randn({40, 6});
  const Forward function = [&](const Tensor& x) { return x.matmul(weight.sin()); };
  for (auto mode : {Compile::Background, Compile::Blocking}) {
    auto options = frozen();
    options.compile = mode;
    const auto compiled = compile(function, options);
    for (int round = 0; round < 3; ++round) {
      std::vector<std::thread> threads;
      for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
          const torch::NoGradGuard no_grad;
          for (int call = 0; call < 20; ++call) {
            const auto x = torch::randn({t + call % 3 + 2, 40});
            EXPECT_TRUE(same(function(x), compiled(x)));
          }
        });
      for (auto& thread : threads) thread.join();
      weight[17][2] += 1;
    }
  }
}

TEST_F(FreezeWrites, OfModulesThatAreMovedOrTrained) {
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3)), torch::nn::BatchNorm2d(4));
  net->eval();
  const auto compiled = compile(net, frozen());
  const auto x = torch::randn({2, 3, 6, 6});
  const auto check = [&](const char* what, at::ScalarType dtype = at::kFloat) {
    const auto input = x.to(dtype);
    for (int call = 0; call < 2; ++call) {
      const auto before = net->named_buffers()["1.running_mean"].clone();
      const auto variance = net->named_buffers()["1.running_var"].clone();
      const auto expected = net->forward(input);
      const auto after = net->named_buffers()["1.running_mean"].clone();
      net->named_buffers()["1.running_mean"].copy_(before);
      net->named_buffers()["1.running_var"].copy_(variance);
      EXPECT_TRUE(same(expected, compiled(input))) << what;
      EXPECT_TRUE(same_values(after, net->named_buffers()["1.running_mean"])) << what;
    }
  };
  check("eval");
  net->train();
  check("train");
  net->eval();
  check("eval after train");
  net->to(at::kDouble);
  check("double", at::kDouble);
  net->to(at::kFloat);
  check("float again");
  net->named_parameters()["1.weight"].fill_(-1);
  check("weight of the norm");
  net->named_buffers()["1.running_var"].mul_(4);
  check("statistics");
}

TEST_F(FreezeWrites, InferenceTensorsAreRefused) {
  Tensor weight;
  {
    const c10::InferenceMode inference;
    weight = torch::randn({4, 6});
  }
  const Forward function = [&](const Tensor& x) { return x.matmul(weight.sin()); };
  const auto compiled = compile(function, frozen());
  try {
    compiled(torch::randn({2, 4}));
    ADD_FAILURE() << "their writes are not counted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedTensor);
    EXPECT_NE(std::string(error.what()).find("inference tensor"), std::string::npos) << error.what();
  }
  const auto kept = weight.clone();
  const Forward with_normal = [&](const Tensor& x) { return x.matmul(kept.sin()); };
  const auto normal = compile(with_normal, frozen());
  const c10::InferenceMode inference;
  const auto x = torch::randn({2, 4});
  EXPECT_TRUE(same(with_normal(x), normal(x)));
  EXPECT_TRUE(same(with_normal(x), normal(x)));
}

}  // namespace
}  // namespace antegrad::test
