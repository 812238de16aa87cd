// antegrad::region as part of the graph that calls it.
#include <ATen/autocast_mode.h>
#include <antegrad/control.h>
#include <antegrad/effects.h>

#include <cmath>
#include <functional>
#include <thread>

#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Body = std::function<Tensors(const Tensors&)>;

Tensor leaf(at::IntArrayRef sizes) { return (torch::randn(sizes, torch::kF64) * 0.5).requires_grad_(); }

/// Calls a body as a region, or as it is.
Tensors call(bool regions, const Body& body, const Tensors& arguments) {
  return regions ? region("part", body, arguments) : body(arguments);
}

/// Whether no region of the function is a step of its own.
bool all_in_place(const auto& compiled) {
  for (const auto& text : compiled.report().regions)
    if (text.find("called in each step") != std::string::npos) return false;
  return !compiled.report().regions.empty();
}

/// `function(regions, tensors)`: compared up to second derivatives with eager, for leaves that all or partly
/// require gradients.
void check(const std::function<Tensors(bool, const Tensors&)>& function, const Tensors& leaves,
           const std::string& what) {
  for (const size_t needing : {leaves.size(), size_t{1}}) {
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].is_floating_point()) leaves[i].requires_grad_(i < needing);
    Tensors wanted;
    for (const auto& each : leaves)
      if (each.requires_grad()) wanted.push_back(each);
    const auto compiled = compile([&](const Tensors& x) { return function(true, x); });
    const auto expected = derivatives([&] { return function(false, leaves); }, wanted, 2);
    expect_same_derivatives(expected, derivatives([&] { return compiled(leaves); }, wanted, 2), what);
    expect_same_derivatives(derivatives([&] { return function(false, leaves); }, wanted, 1),
                            derivatives([&] { return compiled(leaves); }, wanted, 1), what);
    EXPECT_TRUE(all_in_place(compiled)) << what;
    const torch::NoGradGuard no_grad;
    const auto plain = function(false, leaves), results = compiled(leaves);
    for (size_t k = 0; k < plain.size(); ++k) EXPECT_TRUE(same_values(plain[k], results[k])) << what << k;
  }
}

TEST(RegionInPlace, CodeDoesNotGrowWithCalls) {
  manual_seed(1);
  const auto layer = [](const Tensors& t) {
    const auto h = at::layer_norm(t[0], {4}, t[1]).matmul(t[2]);
    return Tensors{t[0] + at::gelu(h) * 0.5};
  };
  std::vector<size_t> sources;
  for (const size_t layers : {3, 9}) {
    Tensors leaves{leaf({5, 4})};
    for (size_t i = 0; i < layers; ++i) leaves.insert(leaves.end(), {leaf({4}), leaf({4, 4})});
    const auto net = [&](bool regions, const Tensors& t) {
      auto x = t[0];
      for (size_t i = 0; i < layers; ++i) x = call(regions, layer, {x, t[2 * i + 1], t[2 * i + 2]})[0];
      return Tensors{x};
    };
    check(net, leaves, std::to_string(layers));
    const auto compiled = compile([&](const Tensors& t) { return net(true, t); });
    const auto explanation = compiled.explain(leaves);
    EXPECT_EQ(explanation.forward.find("antegrad.region"), std::string::npos);
    EXPECT_EQ(explanation.backward.find("antegrad.region"), std::string::npos);
    EXPECT_NE(explanation.backward.find("antegrad.call"), std::string::npos);
    sources.push_back(explanation.sources.size());
  }
  EXPECT_EQ(sources[0], sources[1]);
}

Tensors product(const Tensors& t) { return {t[0].matmul(t[1]).tanh() + t[0]}; }
Tensors sum(const Tensors& t) { return {t[0] + t[1]}; }

TEST(RegionInPlace, ArgumentsAndResultsOfAllKinds) {
  manual_seed(2);
  const auto whole = leaf({6, 4}), w = leaf({4, 4}), row = leaf({1, 4});
  const Tensors leaves{whole, w, row};
  const std::vector<std::pair<const char*, std::function<Tensors(bool, const Tensors&)>>> all{
      {"views",
       [&](bool r, const Tensors& t) {
         const auto part = t[0].narrow(0, 2, 3), made = (t[0] * 2).narrow(0, 1, 3);
         const auto y = call(r, product, {part, t[1].t()})[0] + call(r, product, {made, t[1]})[0];
         return Tensors{y, call(r, product, {t[2].expand({3, 4}), t[1]})[0]};
       }},
      {"gradients that are arguments",
       [&](bool r, const Tensors& t) {
         const auto y = call(r, sum, {t[0], t[0]})[0];
         return Tensors{call(r, sum, {y, t[2]})[0].narrow(0, 1, 2), call(r, sum, {y, y * 2})[0].sum(0)};
       }},
      {"results",
       [&](bool r, const Tensors& t) {
         const auto y =
             call(r,
                  [](const Tensors& t) {
                    const auto z = t[0].exp();
                    return Tensors{
                        z,    z.t().matmul(z), z.narrow(1, 1, 2), t[0].sum().expand({3}), z.argmax(1), z > 1,
                        t[0], z.detach()};
                  },
                  {t[0]});
         return Tensors{y[0] * y[5].to(torch::kF64) + y[6], y[1], y[2].sum() * y[3], y[7] * t[0]};
       }},
      {"unused",
       [&](bool r, const Tensors& t) {
         const auto y = call(r,
                             [](const Tensors& t) {
                               return Tensors{t[0].sin(), t[1].cos()};
                             },
                             {t[0], t[1]});
         return Tensors{y[0].sum() + t[2].sum()};
       }},
      {"inside of others",
       [&](bool r, const Tensors& t) {
         const auto outer = [&](const Tensors& given) {
           auto x = call(r, product, given)[0];
           const auto flip = [&] { return call(r, product, {x, given[1]})[0]; };
           const auto keep = [&] { return x * 2; };
           x = r ? cond(x.sum() > 0, flip, keep) : x.sum().item<double>() > 0 ? flip() : keep();
           const auto wave = [](const Tensor& x) { return x.sin().exp(); };
           return Tensors{r ? checkpoint(wave, x) : wave(x)};
         };
         return Tensors{call(r, outer, {call(r, outer, {t[0], t[1]})[0], t[1]})[0]};
       }},
      {"gradients inside",
       [&](bool r, const Tensors& t) {
         if (!at::GradMode::is_enabled()) return Tensors{t[0]};
         const auto x = t[0].detach().requires_grad_();
         const auto y = call(r, product, {x, t[1]})[0];
         return Tensors{torch::autograd::grad({y.sin().sum()}, {x}, {}, true, true)[0] * t[0]};
       }},
  };
  for (const auto& [what, function] : all) check(function, leaves, what);
}

TEST(RegionInPlace, SomeResultsAndSomeGradients) {
  manual_seed(3);
  const auto x = leaf({3, 4}), w = leaf({4, 4});
  const auto function = [](bool regions) {
    return [regions](const Tensor& x, const Tensor& w) {
      const auto body = [](const Tensors& t) { return Tensors{t[0].matmul(t[1]).tanh(), t[1].exp() + 1}; };
      const auto y = call(regions, body, {x, w});
      const auto z = call(regions, body, {y[0], y[1]});
      return std::tuple(z[0] * 2, z[1], y[1]);
    };
  };
  const auto compiled = compile(function(true));
  const auto gradients = [&](const auto& f, int results, const Tensors& of) {
    const auto [a, b, c] = f(x, w);
    Tensors from;
    if ((results & 1) != 0) from.push_back(a.sum());
    if ((results & 2) != 0) from.push_back(b.square().sum());
    if ((results & 4) != 0) from.push_back(c.sum());
    return torch::autograd::grad(from, of, {}, true, false, true);
  };
  for (int results = 1; results < 8; ++results)
    for (const Tensors& of : {Tensors{x, w}, Tensors{x}, Tensors{w}})
      expect_same_derivatives(gradients(function(false), results, of), gradients(compiled, results, of),
                              std::to_string(results));
  EXPECT_TRUE(all_in_place(compiled));
}

/// What the backward pass does not read in eager may be written before it.
TEST(RegionInPlace, WritesBeforeTheBackwardPass) {
  const auto body = [](const Tensors& t) { return Tensors{((t[0] + t[1]) * 2).relu() + t[2].sin()}; };
  for (const bool returned : {false, true})
    for (size_t written = 0; written < 3; ++written) {
      const auto gradient = [&](bool regions) {
        manual_seed(4);
        const auto w = leaf({3, 4});
        const Tensors buffers{torch::randn({4, 3}, torch::kF64), torch::randn({4}, torch::kF64),
                              torch::randn({4}, torch::kF64)};
        const auto function = [&, regions](const Tensor& a, const Tensor& b, const Tensor& c) {
          const auto made = b * 1;
          const auto y = call(regions, body, {w * a.t(), made, c + w.sum(0)})[0];
          return std::tuple(call(regions, body, {y, b, y.sum(0)})[0], returned ? made : y);
        };
        const auto [y, made] = regions ? compile(function)(buffers[0], buffers[1], buffers[2])
                                       : function(buffers[0], buffers[1], buffers[2]);
        const torch::NoGradGuard no_grad;
        (written == 0 ? made : buffers[written]).mul_(-3);
        return std::pair(
            [&, y = y] {
              const torch::AutoGradMode grad_mode(true);
              return torch::autograd::grad({y.sum()}, {w})[0];
            }(),
            y.detach());
      };
      Tensor expected;
      try {
        expected = gradient(false).first;
      } catch (const c10::Error&) {
        EXPECT_THROW(gradient(true), c10::Error) << returned << written;
        continue;
      }
      EXPECT_TRUE(torch::allclose(expected, gradient(true).first)) << returned << written;
    }
}

TEST(RegionInPlace, SaysWhyOthersAreStepsOfTheirOwn) {
  const auto reason = [](const Body& body, const Tensors& sizes) {
    const auto compiled = compile([&](const Tensor& x) { return call(true, body, {x})[0]; });
    for (const auto& x : sizes) compiled(x);
    const auto regions = compiled.report().regions;
    return regions.size() == 2 ? regions[1] : std::string();
  };
  const auto x = torch::ones({2, 3});
  EXPECT_EQ(reason([](const Tensors& t) { return Tensors{torch::dropout(t[0], 0.5, true)}; }, {x}),
            "region part: called in each step, since it draws random numbers");
  EXPECT_EQ(reason(
                [](const Tensors& t) {
                  antegrad::check(t[0].sum() > 0, "positive");
                  return Tensors{t[0] * 2};
                },
                {x}),
            "region part: called in each step, since it has effects");
  EXPECT_EQ(reason([](const Tensors& t) { return Tensors{t[0] * 2}; },
                   {x, torch::ones({5, 3}), torch::ones({7, 3})}),
            "region part: called in each step, since its sizes or numbers are symbols");
}

/// Attention compares its arguments; the answer is checked in each call.
TEST(Region, AssumesAnswersOfEqual) {
  manual_seed(8);
  torch::nn::MultiheadAttention attention(8, 2);
  attention->to(torch::kF64);
  const auto function = [&](bool regions) {
    return [&, regions](const Tensor& x) {
      const auto body = [&](const Tensors& t) {
        return Tensors{t[0] + std::get<0>(attention->forward(t[0], t[0], t[0])).tanh()};
      };
      return call(regions, body, call(regions, body, {x}))[0];
    };
  };
  const auto compiled = compile(function(true));
  auto leaves = attention->parameters();
  leaves.insert(leaves.begin(), leaf({3, 2, 8}));
  const auto& x = leaves[0];
  const auto expected = derivatives([&] { return Tensors{function(false)(x)}; }, leaves, 2);
  expect_same_derivatives(expected, derivatives([&] { return Tensors{compiled(x)}; }, leaves, 2), "");
  EXPECT_EQ(compiled.report().eager_calls, 0);
  const auto wrong = torch::full({3, 2, 8}, std::nan(""), torch::kF64);  // unlike itself
  EXPECT_TRUE(torch::allclose(function(false)(wrong), compiled(wrong), 0, 0, true));
  EXPECT_EQ(compiled.report().eager_calls, 1);
}

TEST(RegionInPlace, IndicesThatAreOutOfRange) {
  const auto table = torch::randn({5, 2}).requires_grad_();
  for (const bool used : {true, false}) {
    const auto function = [&](bool regions) {
      return [&, regions](const Tensor& index, const Tensor& x) {
        const auto body = [&](const Tensors& t) {
          return Tensors{at::embedding(table, t[0]) * 2, t[1].sin()};
        };
        const auto y = call(regions, body, {index, x});
        return used ? y[0] + y[1] : y[1];
      };
    };
    const auto compiled = compile(function(true));
    const auto x = torch::ones({3, 2});
    const auto index = torch::tensor({0, 4, 2});
    EXPECT_TRUE(same_values(compiled(index, x).detach(), function(false)(index, x).detach()));
    EXPECT_TRUE(all_in_place(compiled));
    const auto wrong = torch::tensor({0, 5, 2});
    EXPECT_THROW(function(false)(wrong, x), c10::Error);
    EXPECT_THROW(compiled(wrong, x), c10::Error) << used;
  }
}

TEST(RegionInPlace, CastsOfAutocastAreThoseOfTheCall) {
  manual_seed(6);
  const auto w = torch::randn({4, 4}).requires_grad_(), x = torch::randn({2, 4}).requires_grad_();
  const auto function = [&](bool regions) {
    return [&, regions](const Tensor& x) {
      const auto body = [&](const Tensors& t) { return Tensors{t[0].matmul(w).tanh()}; };
      return call(regions, body, call(regions, body, {x}))[0];
    };
  };
  const auto gradients = [&](const auto& f) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const auto y = f(x);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    return torch::autograd::grad({y.to(at::kFloat).sum()}, {x, w});
  };
  const auto expected = gradients(function(false)), actual = gradients(compile(function(true)));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(torch::allclose(expected[i], actual[i], 0.05, 0.05));
}

TEST(RegionInPlace, ByManyThreadsAndInTheBackground) {
  manual_seed(7);
  const auto x = leaf({3, 4}), w = leaf({4, 4});
  const auto function = [w](bool regions) {
    return [w, regions](const Tensor& x) {
      const auto body = [w](const Tensors& t) { return Tensors{t[0].matmul(w).tanh()}; };
      return call(regions, body, call(regions, body, {x}))[0];
    };
  };
  const auto expected = torch::autograd::grad({function(false)(x).sum()}, {x, w});
  Options options;
  options.compile = Compile::Background;
  for (const auto& compiled : {compile(function(true)), compile(function(true), options)}) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 20; ++k) {
          const auto found = torch::autograd::grad({compiled(x).sum()}, {x, w});
          for (size_t n = 0; n < 2; ++n) EXPECT_TRUE(torch::allclose(found[n], expected[n]));
        }
      });
    for (auto& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace antegrad::test
