// One compilation for many sizes: values, gradients and strides against eager at each of them.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "support/closeness.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using test::same_values;
using Make = std::function<std::vector<Tensor>(int64_t)>;
using Program = std::function<Tensor(const std::vector<Tensor>&)>;

std::vector<Tensor> with_gradients(std::vector<Tensor> inputs) {
  for (auto& input : inputs)
    if (at::isFloatingType(input.scalar_type())) input.set_requires_grad(true);
  return inputs;
}

std::vector<Tensor> gradients(const Tensor& value, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wanted;
  for (const auto& input : inputs)
    if (input.requires_grad()) wanted.push_back(input);
  if (!value.requires_grad() || wanted.empty()) return {};
  const auto tangent = at::linspace(0.5, 1.5, value.numel(), value.options().requires_grad(false));
  return torch::autograd::grad({value}, wanted, {tangent.view_as(value)}, std::nullopt, false, true);
}

/// Calls the program at each size, compiled and eagerly, and compares. Returns the report of the compiled
/// function.
Report expect_like_eager(const Program& program, const Make& make, const std::vector<int64_t>& sizes,
                         Options options = {}) {
  const auto compiled = compile([&](const std::vector<Tensor>& inputs) { return program(inputs); }, options);
  for (auto n : sizes) {
    SCOPED_TRACE(n);
    test::manual_seed(n);
    const auto inputs = with_gradients(make(n));
    const auto expected = program(inputs);
    const auto actual = compiled(inputs);
    EXPECT_EQ(expected.sizes(), actual.sizes());
    EXPECT_EQ(expected.strides(), actual.strides());
    EXPECT_EQ(expected.requires_grad(), actual.requires_grad());
    EXPECT_TRUE(same_values(expected, actual)) << expected << actual;
    const auto a = gradients(expected, inputs), b = gradients(actual, inputs);
    EXPECT_EQ(a.size(), b.size());
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      EXPECT_EQ(a[i].defined(), b[i].defined()) << i;
      if (a[i].defined() && b[i].defined()) EXPECT_TRUE(same_values(a[i], b[i])) << "gradient " << i;
    }
  }
  auto report = compiled.report();
  for (const auto& list : {report.fixed_sizes, report.recapture_reasons})
    for (const auto& reason : list)
      if (std::getenv("ANTEGRAD_TEST_VERBOSE")) std::cerr << reason << "\n";
  return report;
}

const std::vector<int64_t> kSizes = {6, 9, 4, 1, 2, 3, 17, 33, 64, 100, 129, 0, 6};

TEST(DynamicShapes, PointwiseIsCompiledOnceForAllSizesButZero) {  // DYN-01
  const auto report =
      expect_like_eager([](const auto& in) { return (in[0] * in[1]).sin() + in[0].tanh() * 2; },
                        [](int64_t n) {
                          return std::vector<Tensor>{torch::randn({n, 5}), torch::randn({5})};
                        },
                        kSizes);
  EXPECT_EQ(report.captures, 3u);  // size 6, all other sizes, size 0
  EXPECT_TRUE(report.fixed_sizes.empty()) << report.fixed_sizes[0];
}

TEST(DynamicShapes, Reductions) {
  for (int dim : {0, 1}) {
    const auto report = expect_like_eager(
        [dim](const auto& in) { return at::softmax(in[0], dim) * in[0].mean(dim, true) + in[0].sum(); },
        [](int64_t n) {
          return std::vector<Tensor>{torch::randn({n, 7})};
        },
        kSizes);
    EXPECT_LE(report.captures, 4u);
  }
}

TEST(DynamicShapes, MeansAreNoStaleConstants) {
  const auto report = expect_like_eager(
      [](const auto& in) {
        const auto n = in[0].size(0);
        return in[0].mean() + in[0].sum() / n + in[0].sum() * (1.0 / static_cast<double>(n)) + in[0].var();
      },
      [](int64_t n) {
        return std::vector<Tensor>{torch::randn({n, 3})};
      },
      {6, 9, 5, 2, 3, 40});
  EXPECT_EQ(report.captures, 2u);
}

TEST(DynamicShapes, LayerNormAndLinear) {
  const auto report = expect_like_eager(
      [](const auto& in) {
        const auto h = at::gelu(at::linear(in[0], in[1], in[2]));
        return (at::layer_norm(h, {h.size(-1)}) * h.cos()).mean();
      },
      [](int64_t n) {
        test::manual_seed(1);
        return std::vector<Tensor>{torch::randn({n, 4, 8}), torch::randn({16, 8}), torch::randn({16})};
      },
      {6, 9, 4, 2, 3, 17, 33, 64});
  EXPECT_EQ(report.captures, 2u);
}

TEST(DynamicShapes, SizesThatTheProgramComputesWith) {
  const auto report = expect_like_eager(
      [](const auto& in) {
        const auto n = in[0].size(0);
        const auto position = at::arange(n, in[0].options().requires_grad(false)).unsqueeze(1);
        const auto padded = at::constant_pad_nd(in[0], {1, 2, 0, n});
        const auto halves = padded.slice(0, 0, n) * position + padded.slice(0, n);
        return at::cat({halves.flatten(), in[0].reshape({-1})}) + at::full({1}, n, in[0].options());
      },
      [](int64_t n) {
        return std::vector<Tensor>{torch::randn({n, 3})};
      },
      {6, 9, 4, 2, 3, 17, 33, 64});
  EXPECT_EQ(report.captures, 2u);
}

TEST(DynamicShapes, ConvolutionsAndPools) {
  const auto report = expect_like_eager(
      [](const auto& in) {
        const auto h = at::conv2d(in[0], in[1], {}, 2, 1).relu();
        return at::avg_pool2d(h, {2, 2}).mean();
      },
      [](int64_t n) {
        test::manual_seed(1);
        return std::vector<Tensor>{torch::randn({2, 3, n, n + 4}), torch::randn({4, 3, 3, 3})};
      },
      {12, 18, 16, 17, 19, 21, 30});
  EXPECT_LE(report.captures, 4u);
}

TEST(DynamicShapes, TwoSizesThatChangeTogetherAndThenApart) {
  const auto program = [](const std::vector<Tensor>& in) { return at::matmul(in[0], in[1]).tanh(); };
  auto compiled = compile([&](const std::vector<Tensor>& in) { return program(in); });
  for (auto [a, b] :
       std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {6, 6}, {9, 9}, {3, 8}, {5, 7}, {2, 11}}) {
    const std::vector<Tensor> inputs = {torch::randn({a, 3}), torch::randn({3, b})};
    EXPECT_TRUE(same_values(program(inputs), compiled(inputs))) << a << " " << b;
  }
  EXPECT_EQ(compiled.report().captures, 3u);
}

TEST(DynamicShapes, ABranchOnASizeGetsAVersionOfItsOwn) {
  const auto report = expect_like_eager(
      [](const auto& in) { return in[0].size(0) % 5 == 0 ? in[0].sin() : in[0].cos(); },
      [](int64_t n) { return std::vector<Tensor>{torch::randn({n})}; }, {6, 9, 4, 5, 8, 5, 7});
  EXPECT_EQ(report.captures, 3u);
}

TEST(DynamicShapes, EveryModeGivesTheSame) {
  for (auto mode : {Dynamic::Auto, Dynamic::All, Dynamic::None}) {
    Options options;
    options.dynamic = mode;
    const auto report =
        expect_like_eager([](const auto& in) { return (in[0].matmul(in[1])).relu().sum(0); },
                          [](int64_t n) {
                            return std::vector<Tensor>{torch::randn({n, 4}), torch::randn({4, 3})};
                          },
                          {6, 9, 4, 2}, options);
    EXPECT_EQ(report.captures, mode == Dynamic::All ? 1u : mode == Dynamic::Auto ? 2u : 4u);
  }
}

TEST(DynamicShapes, MarkedSizesAreSymbolsFromTheFirstCall) {  // DYN-10
  Options options;
  options.dynamic_sizes = {dynamic(0, 0, 8, 64).multiple_of(8)};
  const auto program = [](const std::vector<Tensor>& in) { return in[0].view({-1, 8}).sum(0); };
  auto compiled = compile([&](const std::vector<Tensor>& in) { return program(in); }, options);
  for (int64_t n : {16, 24, 64, 8}) {
    const std::vector<Tensor> inputs = {torch::randn({n})};
    EXPECT_TRUE(same_values(program(inputs), compiled(inputs))) << n;
  }
  EXPECT_EQ(compiled.report().captures, 1u);
  const std::vector<Tensor> outside = {torch::randn({128})};
  EXPECT_TRUE(same_values(program(outside), compiled(outside)));
  EXPECT_EQ(compiled.report().captures, 2u);
}

TEST(DynamicShapes, SizesThatFollowFromOthers) {  // DYN-11
  const auto report = expect_like_eager(
      [](const auto& in) { return in[0].repeat({2}) + in[1] + in[2].slice(0, 1).sum(); },
      [](int64_t n) {
        return std::vector<Tensor>{torch::randn({n}), torch::randn({2 * n}), torch::randn({n + 1})};
      },
      {6, 9, 4, 3, 17});
  EXPECT_EQ(report.captures, 2u);
}

TEST(DynamicShapes, SecondDerivativesShareACompilation) {  // DYN-06
  const auto program = [](const std::vector<Tensor>& in) { return at::layer_norm(in[0], {4}).pow(3).sum(); };
  auto compiled = compile([&](const std::vector<Tensor>& in) { return program(in); });
  for (int64_t n : {3, 5, 8, 2}) {
    const auto second = [&](const auto& f) {
      test::manual_seed(n);
      const std::vector<Tensor> in = {torch::randn({n, 4}, torch::requires_grad())};
      const auto first = torch::autograd::grad({f(in)}, in, {}, true, true)[0];
      return torch::autograd::grad({first.pow(2).sum()}, in)[0];
    };
    const auto a = second(program), b = second(compiled);
    EXPECT_TRUE(at::allclose(a, b, 1e-3, 1e-4)) << n << a << b;
  }
}

TEST(DynamicShapes, ExplainSaysWhyAndWhat) {
  auto compiled = compile([](const Tensor& x) { return x.sin(); });
  compiled(torch::randn({4, 3}));
  compiled(torch::randn({5, 3}));
  const auto text = explain(compiled, torch::randn({7, 3}));
  EXPECT_NE(text.guards.find("tensor 0 size 0 == s0"), std::string::npos) << text.guards;
  EXPECT_NE(text.guards.find("tensor 0 size 1 == 3"), std::string::npos) << text.guards;
  EXPECT_NE(text.reasons.find("has sizes [5, 3], had [4, 3]"), std::string::npos) << text.reasons;
}

}  // namespace
}  // namespace antegrad::test
