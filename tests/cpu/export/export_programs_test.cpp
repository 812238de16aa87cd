// Exported graphs of programs that are not plain networks compute what the programs compute.
#include "cpu/export/export_helpers.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
namespace nn = torch::nn;

/// Exports the function, runs the graph with a random tangent for each differentiable result, and compares
/// results and gradients of all arguments and captured tensors that require one with eager's.
template <class F>
void expect_joint_like_eager(const F& function, const Tensors& arguments, const Tensors& captured = {}) {
  const auto exported = export_joint(verified(), function, arguments);
  const auto eager = function(arguments);
  Tensors roots;
  Tensors tangents;
  for (const auto& result : eager) {
    if (!result.requires_grad()) continue;
    roots.push_back(result);
    tangents.push_back(torch::randn_like(result));
  }
  const auto inputs = inputs_of(exported, arguments, tangents);
  Tensors leaves;
  for (const auto* tensors : {&arguments, &captured})
    for (const auto& tensor : *tensors)
      if (tensor.requires_grad()) leaves.push_back(tensor);
  const auto gradients = torch::autograd::grad(roots, leaves, tangents, {}, false, true);

  const auto results = exported.run(inputs);
  ASSERT_EQ(results.size(), eager.size() + gradients.size());
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_TRUE(at::equal(eager[i], results[i])) << i;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto& mine = results[eager.size() + i];
    ASSERT_EQ(gradients[i].defined(), mine.defined()) << i;
    if (mine.defined()) {
      EXPECT_TRUE(at::allclose(gradients[i], mine)) << i;
    }
  }
  expect_round_trip(exported, inputs, results);
}

Tensor leaf(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return torch::randn(sizes, dtype).requires_grad_();
}

TEST(ExportPrograms, ConjugatedResults) {
  expect_joint_like_eager(
      [](const Tensors& a) {
        return Tensors{a[0].conj(), a[0].conj().resolve_conj() * a[1], at::imag(a[1].conj())};
      },
      {leaf({3}, at::kComplexFloat), leaf({3}, at::kComplexFloat)});
}

TEST(ExportPrograms, CapturedTensorReturned) {
  const auto weight = leaf({3});
  expect_joint_like_eager(
      [&](const Tensors& a) {
        return Tensors{weight, a[0] * weight};
      },
      {torch::randn({3})}, {weight});
}

TEST(ExportPrograms, LeafMadeInside) {
  expect_joint_like_eager(
      [](const Tensors& a) {
        const auto inner = torch::ones({3}).requires_grad_();
        return Tensors{inner * 2, a[0] * 3};
      },
      {leaf({3})});
}

TEST(ExportPrograms, ResultsWithoutGradients) {
  expect_joint_like_eager(
      [](const Tensors& a) {
        return Tensors{a[0].argmax(0), a[0].detach(), a[0].exp().detach(), a[0].sum(), a[0] > 0};
      },
      {leaf({4})});
}

TEST(ExportPrograms, WritesToViewsOfFreshTensors) {
  expect_joint_like_eager(
      [](const Tensors& a) {
        auto y = torch::zeros({2, 3});
        y.select(0, 1).copy_(a[0]);
        y.t_();
        return Tensors{y, y.select(1, 0), y.sum()};
      },
      {leaf({3})});
}

TEST(ExportPrograms, ArgumentsWithAHistory) {
  const auto x = leaf({3}).sin();
  expect_joint_like_eager([](const Tensors& a) { return Tensors{a[0] * a[1].exp()}; }, {x, x.detach()});
}

class Doubled : public torch::autograd::Function<Doubled> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x) { return x.view({-1}); }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    return {gradients[0].view({2, 3}) * 2};
  }
};

TEST(ExportPrograms, CustomFunctionThatReturnsAView) {
  expect_joint_like_eager([](const Tensors& a) { return Tensors{Doubled::apply(a[0].sin())}; },
                          {leaf({2, 3})});
}

TEST(ExportPrograms, Lstm) {
  nn::LSTM lstm(3, 4);
  expect_joint_like_eager(
      [&](const Tensors& a) {
        const auto [output, state] = lstm->forward(a[0]);
        return Tensors{output, std::get<0>(state), std::get<1>(state)};
      },
      {leaf({5, 2, 3})}, lstm->parameters());
}

// A function that differentiates inside: the joint graph contains second derivatives.
TEST(ExportPrograms, GradientInside) {
  expect_joint_like_eager(
      [](const Tensors& a) { return torch::autograd::grad({a[0].pow(3).sum()}, {a[0]}, {}, true, true); },
      {leaf({3})});
}

TEST(ExportPrograms, WithoutArgumentsOrResults) {
  EXPECT_TRUE(same({torch::ones({2})}, export_inference([] { return torch::ones({2}); }).run({})));
  EXPECT_TRUE(
      export_inference([](const Tensor& a) { a.sin(); }, torch::ones({2})).run({torch::ones({2})}).empty());
}

// An exported graph does not depend on the module, and its inputs may have any owner.
TEST(ExportPrograms, OutlivesItsModule) {
  const auto x = torch::randn({2, 3});
  auto net = std::make_unique<nn::Linear>(3, 3);
  const auto exported = export_inference(*net, x);
  const auto inputs = inputs_of(exported, {x});
  at::NoGradGuard no_grad;
  const auto eager = (*net)->forward(x);
  net.reset();
  EXPECT_TRUE(same({eager}, exported.run(inputs)));
}

}  // namespace
}  // namespace antegrad::test
