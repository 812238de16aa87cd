// Programs as users write them, which read data in the middle.
#include <thread>

#include "cpu/breaks/in_parts.h"

namespace antegrad::test {
namespace {

namespace nn = torch::nn;

/// A detection loss like YOLO's: targets are assigned to cells on the host, and losses are of those only.
TEST(BrokenPrograms, DetectionLoss) {
  const auto program = [](const Tensors& in) -> Tensors {
    const auto& prediction = in[0];  // batch, anchors, cells, cells, 5 + classes
    const auto& targets = in[1];     // boxes, (image, class, x, y, w, h)
    const auto anchors = torch::tensor({{0.1F, 0.2F}, {0.3F, 0.3F}});
    const auto cells = prediction.size(2);
    auto xy = prediction.slice(4, 0, 2).sigmoid();
    auto wh = prediction.slice(4, 2, 4).exp() * anchors.view({1, 2, 1, 1, 2});
    auto objectness = prediction.select(4, 4);
    auto wanted = torch::zeros_like(objectness);
    auto box_loss = torch::zeros({});
    auto class_loss = torch::zeros({});
    for (int64_t t = 0; t < targets.size(0); ++t) {
      const auto image = targets[t][0].item<int64_t>();
      const auto x = targets[t][2].item<float>() * static_cast<float>(cells);
      const auto y = targets[t][3].item<float>() * static_cast<float>(cells);
      const auto i = static_cast<int64_t>(x), j = static_cast<int64_t>(y);
      const auto overlap = at::minimum(anchors, targets[t].slice(0, 4, 6)).prod(1);
      const auto best = overlap.argmax().item<int64_t>();
      wanted.index_put_({image, best, j, i}, 1.0);
      box_loss = box_loss + (xy[image][best][j][i] - torch::tensor({x - i, y - j})).square().sum() +
                 (wh[image][best][j][i] - targets[t].slice(0, 4, 6)).square().sum();
      class_loss =
          class_loss + nn::functional::cross_entropy(prediction[image][best][j][i].slice(0, 5).unsqueeze(0),
                                                     targets[t][1].to(at::kLong).unsqueeze(0));
    }
    auto noise = nn::functional::binary_cross_entropy_with_logits(objectness, wanted);
    auto confident = objectness.masked_select(wanted > 0).sigmoid().mean();
    return {box_loss + class_loss + noise, confident};
  };
  same_in_parts(program,
                [](int) {
                  return Tensors{(torch::randn({2, 2, 4, 4, 8}) * 0.3).requires_grad_(),
                                 torch::tensor({{0.F, 1.F, 0.3F, 0.6F, 0.2F, 0.1F},
                                                {1.F, 2.F, 0.8F, 0.1F, 0.3F, 0.4F}})};
                },
                {.second_order = false});
}

TEST(BrokenPrograms, PackedSequences) {
  nn::LSTM lstm(nn::LSTMOptions(5, 6).num_layers(2).batch_first(true));
  nn::Linear head(6, 3);
  same_in_parts(
      [&](const Tensors& in) -> Tensors {
        auto packed = nn::utils::rnn::pack_padded_sequence(in[0].tanh(), in[1], true, false);
        auto [output, state] = lstm->forward_with_packed_input(packed);
        auto [padded, lengths] = nn::utils::rnn::pad_packed_sequence(output, true);
        auto logits = head(padded);
        return {logits.log_softmax(-1).select(-1, 0).sum(), std::get<0>(state), lengths};
      },
      [](int call) {
        return Tensors{leaf({3, 7, 5}), torch::tensor({7, 3 + call % 2, 2}, at::kLong)};
      },
      {.second_order = false});
}

TEST(BrokenPrograms, StopsEarly) {
  same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto x = torch::zeros({4});
        auto matrix = in[0].matmul(in[0].t()) + 4 * torch::eye(4);
        int steps = 0;
        for (; steps < 50; ++steps) {
          auto residual = in[1] - matrix.matmul(x);
          if (residual.norm().item<double>() < 1e-3) break;
          x = x + residual * 0.1;
        }
        return {x, torch::full({}, steps)};
      },
      [](int) {
        return Tensors{(torch::randn({4, 4}) * 0.5).requires_grad_(), leaf({4})};
      },
      {.second_order = false, .rounding = 1e-4});
}

TEST(BrokenPrograms, ClipsGradients) {
  auto make = [] {
    test::manual_seed(7);
    return nn::Sequential(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 2));
  };
  auto eager_net = make();
  auto net = make();
  auto step = [](nn::Sequential& of) {
    return [of](const Tensors& in) mutable -> Tensors {
      of->zero_grad();
      auto loss = of->forward(in[0]).square().mean();
      loss.backward();
      const auto norm = nn::utils::clip_grad_norm_(of->parameters(), 0.1);
      torch::NoGradGuard no_grad;
      for (auto& parameter : of->parameters()) parameter.sub_(parameter.grad(), 0.5);
      return {loss.detach(), torch::full({}, norm)};
    };
  };
  auto eager = step(eager_net);
  const auto compiled = compile(step(net), in_parts());
  for (int call = 0; call < 4; ++call) {
    test::manual_seed(call);
    const auto in = Tensors{torch::randn({5, 4})};
    const auto expected = eager(in);
    const auto results = compiled(in);
    EXPECT_TRUE(close(expected, results, 1e-5));
    EXPECT_TRUE(close(eager_net->parameters(), net->parameters(), 1e-5));
    for (size_t p = 0; p < net->parameters().size(); ++p)
      EXPECT_EQ(eager_net->parameters()[p]._version(), net->parameters()[p]._version());
  }
  EXPECT_EQ(compiled.report().eager_calls, 0U);
}

TEST(BrokenPrograms, OptimizerInside) {
  auto make = [] {
    test::manual_seed(7);
    return nn::Sequential(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 1));
  };
  auto eager_net = make();
  auto net = make();
  torch::optim::Adam eager_optimizer(eager_net->parameters(), 0.05);
  torch::optim::Adam optimizer(net->parameters(), 0.05);
  const auto step = [](nn::Sequential& of, torch::optim::Optimizer& by) {
    return [of, &by](const Tensors& in) mutable -> Tensors {
      by.zero_grad();
      auto loss = of->forward(in[0]).square().mean();
      loss.backward();
      if (std::isfinite(loss.item<double>())) by.step();
      return {loss.detach()};
    };
  };
  auto eager = step(eager_net, eager_optimizer);
  const auto compiled = compile(step(net, optimizer), in_parts());
  for (int call = 0; call < 5; ++call) {
    test::manual_seed(call);
    const auto in = Tensors{torch::randn({5, 4})};
    EXPECT_TRUE(close(eager(in), compiled(in), 1e-4));
    EXPECT_TRUE(close(eager_net->parameters(), net->parameters(), 1e-4));
  }
  EXPECT_EQ(compiled.report().eager_calls, 0U);
}

TEST(BrokenPrograms, BatchNormBetweenReads) {
  auto make = [] {
    test::manual_seed(7);
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).bias(false)), nn::BatchNorm2d(4), nn::ReLU());
  };
  auto eager_net = make();
  auto net = make();
  const auto forward = [](nn::Sequential& of) {
    return [of](const Tensors& in) mutable -> Tensors {
      auto y = of->forward(in[0]);
      if (y.max().item<float>() > 1e6F) return {y};
      y = of->forward(in[0] * 0.5) + y.mean();
      return {y};
    };
  };
  auto eager = forward(eager_net);
  const auto compiled = compile(forward(net), in_parts());
  for (int call = 0; call < 3; ++call) {
    test::manual_seed(call);
    const auto in = Tensors{torch::randn({2, 3, 6, 6})};
    const auto expected = eager(in);
    const auto results = compiled(in);
    EXPECT_TRUE(close(expected, results, 1e-5));
    EXPECT_TRUE(close(gradients(expected, eager_net->parameters(), false),
                      gradients(results, net->parameters(), false), 1e-4));
    EXPECT_TRUE(close(eager_net->buffers(), net->buffers(), 1e-5));
    for (size_t b = 0; b < net->buffers().size(); ++b)
      EXPECT_EQ(eager_net->buffers()[b]._version(), net->buffers()[b]._version()) << b;
  }
}

TEST(BrokenPrograms, BeamSearch) {
  nn::GRUCell cell(4, 4);
  nn::Linear head(4, 6);
  nn::Embedding embedding(6, 4);
  const auto report = same_in_parts(
      [&](const Tensors& in) -> Tensors {
        torch::NoGradGuard no_grad;
        auto hidden = in[0].detach();
        auto token = torch::zeros({hidden.size(0)}, at::kLong);
        std::vector<at::Tensor> tokens;
        for (int step = 0; step < 6; ++step) {
          hidden = cell(embedding(token), hidden);
          token = head(hidden).argmax(-1);
          tokens.push_back(token);
          if ((token == 0).all().item<bool>()) break;
        }
        return {torch::stack(tokens), hidden};
      },
      [](int) {
        return Tensors{leaf({3, 4})};
      },
      {.calls = 4, .second_order = false});
  EXPECT_LE(report.stretches, 12U);
}

TEST(BrokenPrograms, ChangingSizes) {
  const auto report = same_in_parts(
      [](const Tensors& in) -> Tensors {
        auto scores = in[0].matmul(in[1]).sigmoid();
        auto kept = (scores.select(1, 0) > 0.4).nonzero().squeeze(1);
        auto chosen = scores.index_select(0, kept);
        auto weights = torch::linspace(0, 1, chosen.size(0)).unsqueeze(1);
        return {(chosen * weights).reshape({-1}).sum(), chosen.expand({2, -1, -1}).sum(0)};
      },
      [](int call) {
        return Tensors{leaf({20 + call, 3}), leaf({3, 3})};
      },
      {.calls = 10, .second_order = false});
  EXPECT_EQ(report.broken_calls, 10U);
}

TEST(BrokenPrograms, InSeveralThreads) {
  const auto program = [](const Tensors& in) -> Tensors {
    auto y = in[0].matmul(in[1]).tanh();
    auto z = y.sum().item<double>() > 0 ? y.exp() : y.sin();
    return {z.square().mean()};
  };
  const auto function = compile(program, in_parts());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int call = 0; call < 10; ++call) {
        auto make = [&] {
          auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(10 * t + call));
          return Tensors{at::randn({4, 3}, generator).requires_grad_(),
                         at::randn({3, 3}, generator).requires_grad_()};
        };
        const auto a = make();
        const auto b = make();
        const auto eager = program(a);
        const auto compiled = function(b);
        EXPECT_TRUE(same(eager, compiled));
        EXPECT_TRUE(close(gradients(eager, a, true), gradients(compiled, b, true), 2e-5));
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace antegrad::test
