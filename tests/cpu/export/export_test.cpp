// Exported graphs compute what eager computes, and name their inputs and outputs.
#include "cpu/export/export_helpers.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Kind = GraphSignature::InputKind;
using OutputKind = GraphSignature::OutputKind;
namespace nn = torch::nn;

/// Exports net(x) with its backward pass, and compares results, gradients and new values of buffers with
/// eager's. Neither exporting nor running changes the net.
template <class Net>
void expect_joint_like_eager(Net net, const Tensor& x) {
  const auto exported = export_joint(verified(), net, x);
  const auto before = copies(net->buffers());
  const auto tangent = torch::randn_like(net->forward(x));
  for (size_t i = 0; i < before.size(); ++i) net->buffers()[i].copy_(before[i]);
  const auto inputs = inputs_of(exported, {x}, {tangent});
  test::manual_seed(3);
  const auto results = exported.run(inputs);
  EXPECT_TRUE(same(before, copies(net->buffers())));

  test::manual_seed(3);
  const auto output = net->forward(x);
  EXPECT_TRUE(same(output.detach(), named(exported, results, "output0")));
  output.backward(tangent);
  for (const auto& item : net->named_parameters())
    EXPECT_TRUE(same(item.value().grad(), named(exported, results, "grad:" + item.key()))) << item.key();
  if (x.requires_grad()) {
    EXPECT_TRUE(same(x.grad(), named(exported, results, "grad:arg0")));
  }
  for (const auto& item : net->named_buffers()) {
    if (!net->is_training()) break;
    EXPECT_TRUE(same(item.value(), named(exported, results, "mutated:" + item.key()))) << item.key();
  }
  for (size_t i = 0; i < before.size(); ++i) net->buffers()[i].copy_(before[i]);
  test::manual_seed(3);
  expect_round_trip(exported, inputs, results);
}

template <class Net>
void expect_inference_like_eager(Net net, const Tensor& x) {
  const auto exported = export_inference(verified(), net, x);
  const auto results = exported.run(inputs_of(exported, {x}));
  at::NoGradGuard no_grad;
  EXPECT_TRUE(same({net->forward(x)}, results));
  EXPECT_TRUE(exported.signature().names(Kind::Tangent).empty());
  expect_round_trip(exported, inputs_of(exported, {x}), results);
}

nn::Sequential make_mlp() {
  return nn::Sequential(nn::Linear(4, 8), nn::Tanh(), nn::LayerNorm(nn::LayerNormOptions({8})),
                        nn::Linear(8, 3));
}
nn::Sequential make_conv_net() {
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(36, 3));
}

TEST(ExportJoint, Mlp) { expect_joint_like_eager(make_mlp(), torch::randn({5, 4})); }
TEST(ExportJoint, GradientOfAnArgument) {
  expect_joint_like_eager(make_mlp(), torch::randn({5, 4}).requires_grad_());
}
TEST(ExportJoint, ConvolutionAndBatchNorm) {
  expect_joint_like_eager(make_conv_net(), torch::randn({2, 2, 6, 6}).requires_grad_());
}
TEST(ExportJoint, EvaluationMode) {
  auto net = make_conv_net();
  net->eval();
  expect_joint_like_eager(net, torch::randn({2, 2, 6, 6}));
}
TEST(ExportInference, Mlp) { expect_inference_like_eager(make_mlp(), torch::randn({5, 4})); }
TEST(ExportInference, ConvolutionAndBatchNorm) {
  auto net = make_conv_net();
  net->eval();
  expect_inference_like_eager(net, torch::randn({2, 2, 6, 6}));
}

// Random ops are exported as they are, in both passes: they draw eager's numbers. ERR-05 (functionalized RNG)
TEST(ExportJoint, Dropout) {
  expect_joint_like_eager(nn::Sequential(nn::Linear(4, 16), nn::Dropout(0.5), nn::Linear(16, 3)),
                          torch::randn({5, 4}));
}

class Scaled : public nn::Module {
 public:
  Scaled() {
    weight_ = register_parameter("weight", torch::tensor({2.0F, 3.0F}));
    frozen_ = register_parameter("frozen", torch::tensor({1.0F, 1.0F}), false);
    count_ = register_buffer("count", torch::zeros({}));
  }
  Tensor forward(const Tensor& x) {
    count_.add_(1);
    return x * weight_ + frozen_;
  }

 private:
  Tensor weight_, frozen_, count_;
};

TEST(ExportSignature, Text) {
  const auto exported = export_joint(std::make_shared<Scaled>(), torch::randn({3, 2}).requires_grad_());
  EXPECT_EQ(exported.signature().print(),
            "in arg0: user\n"
            "in count: buffer\n"
            "in weight: parameter\n"
            "in frozen: parameter\n"
            "in tangent:output0: tangent of output0\n"
            "out output0: user\n"
            "out mutated:count: new value of count\n"
            "out grad:arg0: gradient of arg0\n"
            "out grad:weight: gradient of weight\n");
  EXPECT_EQ(exported.signature().names(Kind::Parameter), (std::vector<std::string>{"weight", "frozen"}));
  EXPECT_EQ(exported.signature().names(OutputKind::Mutation), (std::vector<std::string>{"mutated:count"}));
  EXPECT_EQ(exported.signature().input("weight"), 2U);
}

TEST(ExportSignature, GraphText) {
  const auto exported = export_inference(std::make_shared<Scaled>(), torch::randn({3, 2}));
  EXPECT_EQ(exported.graph(),
            "graph @function functional {\n"
            "  in %0: f32[3,2] user \"arg0\"\n"
            "  in %1: f32[] buffer \"count\"\n"
            "  in %2: f32[2] param \"weight\"\n"
            "  in %3: f32[2] param \"frozen\"\n"
            "  %4: f32[] = aten.add.Scalar(%1, 1)\n"
            "  %5: f32[3,2] = aten.mul.Tensor(%0, %2)\n"
            "  %6: f32[3,2] = aten.add.Tensor(%5, %3)\n"
            "  out %6 user \"output0\"\n"
            "  out %4 mutated 1 \"mutated:count\"\n"
            "}\n");
}

TEST(ExportSignature, NamesAreUnique) {
  Options options = verified();
  nn::Linear first(2, 2);
  nn::Linear second(2, 2);
  options.watch = {first.ptr(), second.ptr()};
  const auto exported = export_inference(
      options, [&](const Tensor& x) { return second->forward(first->forward(x)); }, torch::randn({2, 2}));
  auto names = exported.signature().names(Kind::Parameter);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"bias", "bias_1", "weight", "weight_1"}));
}

// ERR-07 (supported here)
TEST(ExportJoint, TwoDifferentiableOutputs) {
  auto x = torch::randn({3}).requires_grad_();
  auto function = [](const Tensor& a) { return std::make_pair(a.sin(), a.exp().sum()); };
  const auto exported = export_joint(verified(), function, x);
  EXPECT_EQ(exported.signature().names(Kind::Tangent),
            (std::vector<std::string>{"tangent:output0", "tangent:output1"}));
  const auto of_sin = torch::randn({3});
  const auto of_sum = torch::tensor(0.5F);
  auto gradient = [&](const Tensors& tangents) {
    return named(exported, exported.run(inputs_of(exported, {x}, tangents)), "grad:arg0");
  };
  const auto [sin, sum] = function(x);
  const auto both = torch::autograd::grad({sin, sum}, {x}, {of_sin, of_sum}, true);
  EXPECT_TRUE(same(both[0], gradient({of_sin, of_sum})));
  const auto one = torch::autograd::grad({sum}, {x}, {of_sum}, true);
  EXPECT_TRUE(at::allclose(one[0], gradient({Tensor(), of_sum}))) << "an undefined tangent counts as zeros";
}

TEST(ExportJoint, UndefinedGradientAndResult) {
  auto x = torch::randn({3}).requires_grad_();
  auto unused = torch::randn({3}).requires_grad_();
  const auto exported = export_joint(
      verified(),
      [](const Tensor& a, const Tensor& b) {
        return std::vector<Tensor>{a * 2, Tensor(), b.detach() + 1};
      },
      x, unused);
  const auto inputs = inputs_of(exported, {x, unused}, {torch::ones({3})});
  const auto results = exported.run(inputs);
  EXPECT_EQ(results.size(), 5U);
  EXPECT_FALSE(named(exported, results, "output1").defined());
  EXPECT_FALSE(named(exported, results, "grad:arg1").defined());
  EXPECT_TRUE(same(torch::full({3}, 2.0), named(exported, results, "grad:arg0")));
  expect_round_trip(exported, inputs, results);
}

// ERR-05 (nested containers: supported here)
TEST(ExportInference, NestedArguments) {
  std::map<std::string, std::vector<Tensor>> nested = {{"a", {torch::randn({2}), torch::randn({2})}},
                                                       {"b", {torch::randn({2})}}};
  const auto exported = export_inference(
      verified(),
      [](std::map<std::string, std::vector<Tensor>>& m, double scale) {
        return std::make_pair(m["a"][1] - m["b"][0], std::optional<Tensor>(m["a"][0] * scale));
      },
      nested, 0.5);
  const auto results = exported.run({nested["a"][0], nested["a"][1], nested["b"][0]});
  EXPECT_TRUE(same({nested["a"][1] - nested["b"][0], nested["a"][0] * 0.5}, results));
}

// One tensor may be passed as two arguments that are only read: the graph has an input for each.
TEST(ExportJoint, SameTensorTwice) {
  auto x = torch::randn({3}).requires_grad_();
  const auto exported = export_joint(
      verified(), [](const Tensor& a, const Tensor& b) { return a.sin() * b; }, x, x);
  const auto y = torch::randn({3});
  const auto tangent = torch::randn({3});
  const auto results = exported.run({x, y, tangent});
  EXPECT_TRUE(same((x.sin() * y).detach(), named(exported, results, "output0")));
  EXPECT_TRUE(at::allclose(tangent * y * x.detach().cos(), named(exported, results, "grad:arg0")));
  EXPECT_TRUE(at::allclose(tangent * x.detach().sin(), named(exported, results, "grad:arg1")));
}

TEST(ExportInference, OtherStridesAndConjugatedInputs) {
  auto function = [](const Tensor& a, const Tensor& b) { return a.view({6}) * b.reshape({6}); };
  auto x = torch::randn({2, 3}, at::kComplexFloat);
  const auto exported = export_inference(verified(), function, x, x.select(0, 0).expand({2, 3}));
  const auto given = torch::randn({3, 2}, at::kComplexFloat).t().conj();
  const auto results = exported.run({given, x});
  EXPECT_TRUE(same({function(given.resolve_conj().contiguous(), x)}, results));
}

TEST(ExportInference, OptionalArgumentsAndUndefinedTensors) {
  auto function = [](const Tensor& a, const Tensor& bias, const std::optional<Tensor>& scale) {
    auto y = bias.defined() ? a + bias : a * 3;
    return scale ? y * *scale : y;
  };
  auto x = torch::randn({3});
  const auto exported = export_inference(verified(), function, x, Tensor(), std::optional<Tensor>());
  EXPECT_TRUE(same({x * 3}, exported.run({x, Tensor()})));
}

TEST(ExportInference, ConstantsGoWithTheText) {
  const auto exported = export_inference(
      verified(),
      [](const Tensor& a) {
        return a * torch::tensor({1.0F, 2.0F, 3.0F});
      },
      torch::ones({3}));
  EXPECT_TRUE(
      same({torch::tensor({1.0F, 2.0F, 3.0F})}, Exported::parse(exported.graph()).run({torch::ones({3})})));
}

// The caller's grad mode does not matter, and results have no history.
TEST(Export, GradModeAndHistory) {
  auto x = torch::randn({3}).requires_grad_();
  auto function = [](const Tensor& a) { return a.sin(); };
  const auto inference = export_inference(verified(), function, x);
  EXPECT_FALSE(inference.run({x})[0].requires_grad());
  at::NoGradGuard no_grad;
  const auto joint = export_joint(verified(), function, x);
  EXPECT_FALSE(at::GradMode::is_enabled());
  EXPECT_EQ(joint.signature().names(OutputKind::Gradient), (std::vector<std::string>{"grad:arg0"}));
  EXPECT_FALSE(joint.run({x, torch::ones({3})})[0].requires_grad());
}

}  // namespace
}  // namespace antegrad::test
