// Writes to arguments and aliases of arguments come out of an exported graph as values.
#include "cpu/export/export_helpers.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Kind = GraphSignature::InputKind;
using OutputKind = GraphSignature::OutputKind;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

TEST(ExportInference, ViewsAndArgumentsAreReturnedAsValues) {
  auto x = torch::randn({2, 3});
  auto function = [](const Tensor& a) {
    return std::vector<Tensor>{a, a.t(), a, a.select(0, 1), a.sum(0).expand({4, 3})};
  };
  const auto exported = export_inference(verified(), function, x);
  const auto results = exported.run({x});
  const auto eager = function(x);
  for (size_t i = 0; i < eager.size(); ++i) {
    EXPECT_TRUE(at::equal(eager[i], results[i])) << i;
    EXPECT_FALSE(results[i].is_alias_of(x)) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(results[i].is_alias_of(results[j])) << i << " " << j;
  }
}

// A view has a tangent of its own, with the view's shape.
TEST(ExportJoint, TangentsOfViews) {
  auto x = torch::randn({2, 3}).requires_grad_();
  auto function = [](const Tensor& a) {
    const auto y = a.sin();
    return std::make_tuple(y.t(), y.select(0, 0), a);
  };
  const auto exported = export_joint(verified(), function, x);
  const Tensors tangents = {torch::randn({3, 2}), torch::randn({3}), torch::randn({2, 3})};
  const auto results = exported.run(inputs_of(exported, {x}, tangents));
  const auto [whole, row, same_tensor] = function(x);
  const auto eager = torch::autograd::grad({whole, row, same_tensor.view_as(x)}, {x}, tangents);
  EXPECT_TRUE(at::allclose(eager[0], named(exported, results, "grad:arg0")));
}

TEST(ExportInference, MutatedArgumentIsReturned) {
  auto x = torch::randn({3});
  const auto before = x.clone();
  const auto exported = export_inference(
      verified(), [](const Tensor& a) { return a.mul_(2).sum(); }, x);
  const auto results = exported.run({x});
  EXPECT_TRUE(same(before, x));
  EXPECT_TRUE(same({(before * 2).sum(), before * 2}, results));
  EXPECT_EQ(exported.signature().outputs[1],
            (GraphSignature::Output{"mutated:arg0", OutputKind::Mutation, "arg0"}));
}

// Gradients also flow in through the new value of an argument.
TEST(ExportJoint, MutationWithGradients) {
  auto x = torch::randn({3});
  auto w = torch::randn({3}).requires_grad_();
  const auto exported = export_joint(
      verified(), [](const Tensor& a, const Tensor& b) { a.mul_(b); }, x, w);
  EXPECT_EQ(exported.signature().inputs[2],
            (GraphSignature::Input{"tangent:mutated:arg0", Kind::Tangent, "mutated:arg0"}));
  const auto tangent = torch::randn({3});
  const auto results = exported.run({x, w, tangent});
  EXPECT_TRUE(same((x * w).detach(), named(exported, results, "mutated:arg0")));
  EXPECT_TRUE(same(tangent * x, named(exported, results, "grad:arg1")));
}

// ERR-06 (supported here by both exports)
TEST(Export, MutatedParameterIsReturned) {
  nn::Linear net(3, 3);
  auto function = [&](const Tensor& x) {
    {
      at::NoGradGuard no_grad;
      net->weight.mul_(0.5);
    }
    return net->forward(x);
  };
  auto options = verified();
  options.watch = {net.ptr()};
  const auto x = torch::randn({2, 3});
  const auto weight = net->weight.detach().clone();
  const auto inference = export_inference(options, function, x);
  auto results = inference.run(inputs_of(inference, {x}));
  EXPECT_TRUE(same(weight * 0.5, named(inference, results, "mutated:weight")));
  const auto joint = export_joint(options, function, x);
  const auto tangent = torch::randn({2, 3});
  results = joint.run(inputs_of(joint, {x}, {tangent}));
  EXPECT_TRUE(same(weight, net->weight.detach()));
  EXPECT_TRUE(same(weight * 0.5, named(joint, results, "mutated:weight")));
  const auto output = function(x);
  EXPECT_TRUE(same(output.detach(), named(joint, results, "output0")));
  output.backward(tangent);
  EXPECT_TRUE(same(net->weight.grad(), named(joint, results, "grad:weight")));
}

// ERR-08 (supported here: dropout in evaluation returns its argument, which is then written)
TEST(ExportInference, WriteToTheResultOfDropoutInEvaluation) {
  auto function = [](const Tensor& a) {
    return F::dropout(a, F::DropoutFuncOptions().training(false)).add_(1);
  };
  auto x = torch::randn({3});
  const auto exported = export_inference(verified(), function, x);
  const auto results = exported.run({x});
  auto eager = x.clone();
  const auto output = function(eager);
  EXPECT_TRUE(same({output, eager}, results));
}

}  // namespace
}  // namespace antegrad::test
