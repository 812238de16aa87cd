// Decomposed ops beyond the samples: special values and layouts, half types, errors, accuracy, and whole
// training steps.
#include <torch/torch.h>

#include <set>

#include "cpu/ops/decomposed.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
namespace F = torch::nn::functional;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_op(const ir::Graph& graph, std::string_view op) {
  return std::ranges::any_of(graph.nodes, [&](const ir::Node& node) { return node.op == op; });
}

/// Checks that the function's graph contains the op, no longer contains it when decomposed, and computes the
/// same.
void expect_decomposed(std::string_view op, const capture::TensorFunction& function, const Tensors& inputs) {
  SCOPED_TRACE(op);
  const Captured captured(function, inputs);
  ASSERT_TRUE(captured.usable);
  EXPECT_TRUE(has_op(captured.graph, op)) << ir::print(captured.graph);
  const auto checked = check(captured);
  EXPECT_TRUE(checked.changed);
  EXPECT_EQ(checked.wrong, "");
  EXPECT_FALSE(has_op(checked.graph, op)) << ir::print(checked.graph);
}

/// Adapts a function of one tensor to the form that captures take.
template <class Fn>
capture::TensorFunction one(Fn fn) {
  return [fn](const Tensors& t) -> Tensors { return {fn(t[0])}; };
}

constexpr at::ScalarType kFloats[] = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};

Tensor matrix(at::ScalarType dtype, double scale = 1) { return (at::randn({5, 7}) * scale).to(dtype); }

class DecomposeCases : public ::testing::Test {
 protected:
  void SetUp() override { test::manual_seed(5); }
};

TEST_F(DecomposeCases, RowsThatAreMaskedOut) {
  auto x = at::randn({4, 6});
  x[1].fill_(-kInfinity);
  x[2][3] = -kInfinity;
  x[3][0] = kInfinity;
  expect_decomposed("aten._softmax", one([](const Tensor& t) { return t.softmax(-1); }), {x});
  expect_decomposed("aten._log_softmax", one([](const Tensor& t) { return t.log_softmax(0); }), {x});
  expect_decomposed("aten.logsumexp", one([](const Tensor& t) { return t.logsumexp(1); }), {x});
  expect_decomposed("aten._safe_softmax", one([](const Tensor& t) { return at::_safe_softmax(t, 1); }), {x});
}

TEST_F(DecomposeCases, NotANumberGoesOn) {
  auto x = at::randn({4, 6});
  x[1][2] = std::nan("");
  expect_decomposed("aten._softmax", one([](const Tensor& t) { return t.softmax(1); }), {x});
  expect_decomposed("aten.linalg_vector_norm",
                    one([](const Tensor& t) { return at::linalg_vector_norm(t, kInfinity, 1); }), {x});
  expect_decomposed("aten.max", one([](const Tensor& t) { return t.max(); }), {x});
  expect_decomposed("aten.var.correction", one([](const Tensor& t) { return t.var(1); }), {x});
  expect_decomposed("aten.binary_cross_entropy_with_logits",
                    one([](const Tensor& t) { return at::binary_cross_entropy_with_logits(t, t.sigmoid()); }),
                    {x});
}

TEST_F(DecomposeCases, VarianceOfOneElement) {
  expect_decomposed("aten.var.correction", one([](const Tensor& t) { return t.var(1); }),
                    {at::randn({3, 1})});
  expect_decomposed("aten.std_mean.correction",
                    [](const Tensors& t) -> Tensors {
                      auto [std, mean] = at::std_mean(t[0], at::IntArrayRef{1}, at::Scalar(5));
                      return {std, mean};
                    },
                    {at::randn({3, 2})});
}

TEST_F(DecomposeCases, HalfTypes) {
  for (auto dtype : kFloats) {
    SCOPED_TRACE(dtype);
    const auto x = matrix(dtype, 3);
    expect_decomposed("aten.native_layer_norm", one([](const Tensor& t) { return at::layer_norm(t, {7}); }),
                      {x});
    expect_decomposed("aten._log_softmax", one([](const Tensor& t) { return t.log_softmax(1); }), {x});
    expect_decomposed("aten.mean.dim", one([](const Tensor& t) { return t.mean(0); }), {x});
    expect_decomposed("aten.sum", one([](const Tensor& t) { return t.sum(); }), {x});
    expect_decomposed("aten.gelu", one([](const Tensor& t) { return at::gelu(t, "tanh"); }), {x});
    expect_decomposed("aten.mse_loss", one([](const Tensor& t) { return at::mse_loss(t, t.flip(0)); }), {x});
    expect_decomposed("aten.addcmul", one([](const Tensor& t) { return at::addcmul(t, t, t, 0.3); }), {x});
    expect_decomposed("aten.glu", one([](const Tensor& t) { return at::glu(t.slice(1, 0, 6)); }), {x});
  }
}

TEST_F(DecomposeCases, HalfInputsWithWideParameters) {
  for (auto dtype : {at::kBFloat16, at::kHalf}) {
    const Tensors inputs = {matrix(dtype), at::randn({7}), at::randn({7})};
    expect_decomposed(
        "aten.native_layer_norm",
        [](const Tensors& t) -> Tensors {
          auto [y, mean, rstd] = at::native_layer_norm(t[0], {7}, t[1], t[2], 1e-5);
          return {y, mean, rstd};
        },
        inputs);
    const Tensors images = {at::randn({2, 4, 3, 3}).to(dtype), at::randn({4}), at::randn({4})};
    expect_decomposed(
        "aten.native_group_norm",
        [](const Tensors& t) -> Tensors { return {at::group_norm(t[0], 2, t[1], t[2])}; }, images);
    expect_decomposed(
        "aten.native_batch_norm",
        [](const Tensors& t) -> Tensors {
          auto [y, mean, invstd] = at::native_batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5);
          return {y, mean, invstd};
        },
        images);
  }
}

TEST_F(DecomposeCases, ChannelsLast) {
  const auto x = at::randn({2, 4, 3, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const Tensors inputs = {x, at::randn({4}), at::randn({4})};
  const auto group_norm = [](const Tensors& t) -> Tensors { return {at::group_norm(t[0], 2, t[1], t[2])}; };
  expect_decomposed("aten.native_group_norm", group_norm, inputs);
  expect_decomposed("aten.native_group_norm", group_norm, {x.slice(3, 1, 4), inputs[1], inputs[2]});
  expect_decomposed(
      "aten.native_batch_norm",
      [](const Tensors& t) -> Tensors {
        return {at::batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, false)};
      },
      inputs);
  expect_decomposed("aten.upsample_nearest2d", one([](const Tensor& t) {
                      return at::upsample_nearest2d(t, {6, 10});
                    }),
                    {x});
}

Tensors nll(const Tensors& t, int64_t reduction, int64_t ignored) {
  auto [loss, total] = t[0].dim() == 2 ? at::nll_loss_forward(t[0], t[1], t[2], reduction, ignored)
                                       : at::nll_loss2d_forward(t[0], t[1], t[2], reduction, ignored);
  const auto backward = t[0].dim() == 2 ? at::nll_loss_backward : at::nll_loss2d_backward;
  return {loss, total, backward(loss, t[0], t[1], t[2], reduction, ignored, total)};
}

TEST_F(DecomposeCases, TargetsThatAreIgnored) {
  const auto targets = at::tensor({0, -100, 3, 1}, at::kLong);
  const auto pixels = at::randint(0, 4, {2, 3, 3}, at::kLong);
  for (auto dtype : {at::kFloat, at::kDouble})
    for (const auto& weight : {Tensor(), at::rand({4}, dtype)})
      for (int64_t reduction : {0, 1, 2})
        for (int64_t ignored : {-100, 3}) {
          const auto call = [=](const Tensors& t) { return nll(t, reduction, ignored); };
          const auto kept = ignored == -100 ? targets : targets.clamp_min(0);
          expect_decomposed("aten.nll_loss_forward", call, {at::randn({4, 4}, dtype), kept, weight});
          expect_decomposed("aten.nll_loss2d_backward", call,
                            {at::randn({2, 4, 3, 3}, dtype), pixels, weight});
        }
}

TEST_F(DecomposeCases, WhenAllTargetsAreIgnored) {
  const Tensors inputs = {at::randn({3, 4}), at::full({3}, -100, at::kLong), Tensor()};
  expect_decomposed(
      "aten.nll_loss_forward", [](const Tensors& t) { return nll(t, 1, -100); }, inputs);
}

/// Returns what running the graph with these inputs throws.
std::string error_of(const ir::Graph& graph, const Tensors& inputs) {
  try {
    run(graph, inputs);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST_F(DecomposeCases, TargetsOutsideAreAnError) {
  const Tensors inputs = {at::randn({2, 4}), at::tensor({0, 1}, at::kLong), Tensor()};
  Captured captured([](const Tensors& t) { return nll(t, 1, -100); }, inputs);
  ASSERT_TRUE(passes::decompose(captured.graph));
  for (int64_t target : {4, -1}) {
    captured.inputs[1] = at::tensor({int64_t{0}, target});
    EXPECT_NE(error_of(captured.graph, captured.inputs).find("out of bounds"), std::string::npos) << target;
  }
}

TEST_F(DecomposeCases, PredictionsThatAreNoProbabilitiesAreAnError) {
  Captured captured([](const Tensors& t) -> Tensors { return {at::binary_cross_entropy(t[0], t[1])}; },
                    {at::rand({3}), at::rand({3})});
  const auto plain = captured.graph;
  ASSERT_TRUE(passes::decompose(captured.graph));
  for (double x : {-0.1, 1.1, std::nan("")}) {
    captured.inputs[0] = at::full({3}, x);
    const auto message = error_of(captured.graph, captured.inputs);
    EXPECT_EQ(message, "all elements of input should be between 0 and 1");
    EXPECT_EQ(message, error_of(plain, captured.inputs));
  }
}

TEST_F(DecomposeCases, GradientsOfViews) {
  const auto grad = at::randn({4, 3});
  for (int64_t start : {0, 1, -5})
    for (int64_t step : {1, 2, 3}) {
      const int64_t end = start < 0 ? 100 : start + 6;
      const auto length = at::empty({10, 3}).slice(0, start, end, step).size(0);
      expect_decomposed("aten.slice_backward", one([=](const Tensor& t) {
                          return at::slice_backward(t, {10, 3}, 0, start, end, step);
                        }),
                        {at::randn({length, 3})});
    }
  for (int64_t index : {0, 2, -1})
    expect_decomposed("aten.select_backward", one([=](const Tensor& t) {
                        return at::select_backward(t, {4, 5, 3}, 1, index);
                      }),
                      {grad});
  for (int64_t offset : {0, 1, -2, 3})
    for (int64_t dim1 : {0, 1, 2})
      for (int64_t dim2 : {0, 1, 2}) {
        if (dim1 == dim2) continue;
        const auto sizes = at::diagonal(at::empty({4, 5, 6}), offset, dim1, dim2).sizes().vec();
        expect_decomposed("aten.diagonal_backward", one([=](const Tensor& t) {
                            return at::diagonal_backward(t, {4, 5, 6}, offset, dim1, dim2);
                          }),
                          {at::randn(sizes)});
      }
}

TEST_F(DecomposeCases, PoolsAndResampling) {
  const auto x = at::randn({2, 3, 4, 6});
  expect_decomposed("aten.avg_pool2d", one([](const Tensor& t) { return at::avg_pool2d(t, {4, 6}); }), {x});
  expect_decomposed(
      "aten.avg_pool2d_backward",
      [](const Tensors& t) -> Tensors {
        return {at::avg_pool2d_backward(t[0], t[1], {4, 6}, {4, 6}, 0, false, true, std::nullopt)};
      },
      {at::randn({2, 3, 1, 1}), x});
  expect_decomposed(
      "aten._adaptive_avg_pool2d_backward",
      [](const Tensors& t) -> Tensors { return {at::_adaptive_avg_pool2d_backward(t[0], t[1])}; },
      {at::randn({2, 3, 1, 1}), x});
  expect_decomposed("aten.upsample_nearest2d_backward", one([](const Tensor& t) {
                      return at::upsample_nearest2d_backward(t, {4, 6}, {2, 3, 2, 2}, 2.0, 3.0);
                    }),
                    {x});
  expect_decomposed("aten.upsample_nearest1d",
                    one([](const Tensor& t) { return at::upsample_nearest1d(t, {8}); }),
                    {at::randn({2, 3, 4})});
}

// --- accuracy

/// Returns the largest distance from the f64 result, in units of the f32 precision of the largest number.
double error_in_ulps(const Tensor& exact, const Tensor& result) {
  const double resolution = exact.abs().max().item<double>() * 0x1p-24;
  return (result.to(at::kDouble) - exact).abs().max().item<double>() / resolution;
}

TEST_F(DecomposeCases, AsAccurateAsEagerOnLargeNumbers) {
  const std::vector<std::pair<std::string, capture::TensorFunction>> functions = {
      {"layer norm", one([](const Tensor& t) { return at::layer_norm(t, {512}); })},
      {"softmax", one([](const Tensor& t) { return t.softmax(-1); })},
      {"log softmax", one([](const Tensor& t) { return t.log_softmax(-1); })},
      {"logsumexp", one([](const Tensor& t) { return t.logsumexp(-1); })},
      {"var", one([](const Tensor& t) { return t.var(-1); })},
      {"mean", one([](const Tensor& t) { return t.mean(-1); })},
      {"norm", one([](const Tensor& t) { return t.norm(2, -1); })},
      {"batch norm",
       one([](const Tensor& t) { return at::batch_norm(t, {}, {}, {}, {}, true, 0.1, 1e-5, false); })},
      {"group norm", one([](const Tensor& t) {
         return at::group_norm(t.view({64, 8, 64}), 4);
       })},
  };
  for (const auto& [name, function] : functions)
    for (double offset : {0.0, 1e4}) {
      test::manual_seed(3);
      const auto x = at::randn({64, 512}) * 30 + offset;
      const auto exact = function({x.to(at::kDouble)})[0];
      Captured captured(function, {x});
      const double eager = error_in_ulps(exact, run(captured.graph, captured.inputs)[0]);
      ASSERT_TRUE(passes::decompose(captured.graph)) << name;
      const double decomposed = error_in_ulps(exact, run(captured.graph, captured.inputs)[0]);
      EXPECT_LE(decomposed, 2 * eager + 4) << name << ", offset " << offset;
    }
}

// --- whole steps

/// Decomposes the joint graph of a loss; the ops `gone` must disappear.
void expect_step(const capture::TensorFunction& loss, const Tensors& inputs,
                 const std::set<std::string>& gone) {
  const Captured captured(loss, inputs, /*gradients=*/true);
  ASSERT_TRUE(captured.usable);
  ASSERT_EQ(captured.graph.stage, ir::Stage::Joint);
  auto checked = check(captured);
  EXPECT_EQ(checked.wrong, "");
  for (const auto& op : gone) {
    EXPECT_TRUE(has_op(captured.graph, op)) << op;
    EXPECT_FALSE(has_op(checked.graph, op)) << op;
  }
  for (const auto& node : checked.graph.nodes)
    EXPECT_TRUE(ir::find_op(node.op) != nullptr) << "no row for " << node.op;
}

Tensor leaf(at::IntArrayRef sizes) { return at::randn(sizes).mul(0.5).requires_grad_(); }

TEST_F(DecomposeCases, StepOfAPerceptron) {
  expect_step(
      [](const Tensors& t) -> Tensors {
        const auto h = at::gelu(at::linear(t[0], t[2], t[3]));
        return {F::cross_entropy(at::linear(h, t[4], t[5]), t[1])};
      },
      {at::randn({6, 8}), at::randint(0, 5, {6}, at::kLong), leaf({16, 8}), leaf({16}), leaf({5, 16}),
       leaf({5})},
      {"aten.gelu", "aten.gelu_backward", "aten._log_softmax", "aten._log_softmax_backward_data",
       "aten.nll_loss_forward", "aten.nll_loss_backward"});
}

TEST_F(DecomposeCases, StepOfATransformerBlock) {
  const auto block = [](const Tensors& t) -> Tensors {
    const auto x = at::embedding(t[1], t[0]);
    const auto h = at::layer_norm(x, {16}, t[2], t[3]);
    const auto parts = at::linear(h, t[4]).view({2, 5, 3, 2, 8}).permute({2, 0, 3, 1, 4}).unbind(0);
    auto scores = at::matmul(parts[0], parts[1].transpose(-1, -2)) / std::sqrt(8.0);
    const auto mask = at::ones({5, 5}).tril() == 0;
    scores = scores.masked_fill(mask, -kInfinity).softmax(-1);
    const auto y = x + at::matmul(scores, parts[2]).transpose(1, 2).reshape({2, 5, 16});
    const auto z = y + at::linear(at::silu(at::linear(y, t[5])), t[6]);
    return {F::cross_entropy(at::linear(z, t[1]).view({10, 11}), t[0].view({10}))};
  };
  expect_step(block,
              {at::randint(0, 11, {2, 5}, at::kLong), leaf({11, 16}), leaf({16}), leaf({16}), leaf({48, 16}),
               leaf({32, 16}), leaf({16, 32})},
              {"aten.native_layer_norm", "aten.native_layer_norm_backward", "aten._softmax",
               "aten._softmax_backward_data", "aten.silu_backward", "aten.tril"});
}

TEST_F(DecomposeCases, StepOfAConvolutionalNet) {
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).padding(1)),
                            torch::nn::BatchNorm2d(8), torch::nn::Mish(), torch::nn::AdaptiveAvgPool2d(1),
                            torch::nn::Flatten(), torch::nn::GroupNorm(2, 8), torch::nn::Linear(8, 1));
  expect_step(
      [&](const Tensors& t) -> Tensors {
        return {F::binary_cross_entropy_with_logits(net->forward(t[0]), t[1]) +
                F::smooth_l1_loss(t[0], t[0] * 2)};
      },
      {at::randn({4, 3, 6, 6}), at::rand({4, 1})},
      {"aten.native_batch_norm", "aten.native_batch_norm_backward", "aten.mish_backward",
       "aten.native_group_norm", "aten.native_group_norm_backward", "aten.binary_cross_entropy_with_logits"});
}

}  // namespace
}  // namespace antegrad::test
