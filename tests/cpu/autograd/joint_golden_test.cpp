// Golden tests of captures with gradients: the joint graph, the calling convention, and the two graphs that
// the default policy splits it into. ANTEGRAD_UPDATE_GOLDEN=1 rewrites tests/data/joint.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "graph/golden.h"

namespace antegrad {
namespace {

using at::Tensor;

template <class C>
void check_golden(const std::string& name, const C& compiled) {
  const auto actual = compiled.graph() + "\nsignature\n" + compiled.signature() + "\n" +
                      compiled.forward_graph() + "\n" + compiled.backward_graph();
  const auto path = std::string(ANTEGRAD_SOURCE_DIR) + "/tests/data/joint/" + name + ".txt";
  if (updating_golden()) {
    std::ofstream(path) << actual;
    return;
  }
  EXPECT_EQ(actual, read_text(path)) << path;
}

Tensor leaf(at::IntArrayRef sizes) { return torch::zeros(sizes).requires_grad_(); }

TEST(JointGolden, Perceptron) {
  auto compiled = compile([](const Tensor& x, const Tensor& w, const Tensor& b) {
    return torch::tanh(torch::mm(x, w) + b).sum();
  });
  compiled(torch::zeros({2, 3}), leaf({3, 4}), leaf({4}));
  check_golden("perceptron", compiled);
}

TEST(JointGolden, InputWrittenWhereAutogradSeesIt) {
  auto compiled = compile([](const Tensor& x, const Tensor& w) {
    auto before = x.exp();
    x.mul_(w);
    return before + x;
  });
  compiled(leaf({3}) * 1, leaf({3}));
  check_golden("written_input", compiled);
}

TEST(JointGolden, ViewsOfInputsAndIntermediates) {
  auto compiled = compile([](const Tensor& x) {
    auto h = x.sin();
    return std::tuple(h.t(), h[0], x.t(), h.detach());
  });
  compiled(leaf({2, 3}));
  check_golden("views", compiled);
}

TEST(JointGolden, NoGradRegionAndTwoOutputs) {
  auto compiled = compile([](const Tensor& x) {
    Tensor scale;
    {
      torch::NoGradGuard no_grad;
      scale = x.abs().max();
    }
    return std::pair(x / scale, (x * scale).sum());
  });
  compiled(leaf({3}));
  check_golden("no_grad_region", compiled);
}

TEST(JointGolden, BatchNormAndDropoutOfAModule) {
  torch::nn::Sequential net(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4), torch::nn::ReLU(),
                            torch::nn::Dropout(0.5));
  auto compiled = compile([net](const Tensor& x) mutable { return net->forward(x); },
                          [&] {
                            Options options;
                            options.watch = {net.ptr()};
                            return options;
                          }());
  compiled(torch::zeros({2, 3}));
  check_golden("batch_norm_dropout", compiled);
}

}  // namespace
}  // namespace antegrad
