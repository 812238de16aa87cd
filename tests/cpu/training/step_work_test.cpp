// What the benchmarks count as the least work of a step.
#include "step_work.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace antegrad::benchmarks {
namespace {

constexpr double kFloat = 4;

at::Tensor parameter(at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); }

TEST(StepWork, ProductsOfAnMlp) {
  const auto work = work_of_step(make_workload("mlp"));
  EXPECT_EQ(work.flops, 6 * 3 * 2 * 256.0 * 256 * 256) << "of each layer: one forward, two backward";
  const double parameters = 6 * (256 * 256 + 3 * 256), inputs = 2 * 256 * 256;
  EXPECT_EQ(work.bytes, kFloat * (3 * parameters + 2 * inputs));
  const auto whole = work_of_step(make_workload("mlp"), /*updates=*/true);
  EXPECT_EQ(whole.flops, work.flops);
  EXPECT_EQ(whole.bytes, work.bytes + kFloat * 7 * parameters);
}

TEST(StepWork, Convolutions) {
  Workload workload;
  workload.parameters = {parameter({8, 3, 3, 3}), parameter({8, 5, 2, 2})};
  workload.inputs = {at::randn({2, 3, 10, 10})};
  workload.loss = [](const Tensors& p, const Tensors& in) {
    return at::conv_transpose2d(at::conv2d(in[0], p[0], {}, 1, 1), p[1], {}, 2).sum();
  };
  const double image = 2 * 10 * 10, first = 2 * image * 8 * 3 * 9, second = 2 * image * 8 * 5 * 4;
  EXPECT_EQ(work_of_step(workload).flops, 2 * first + 3 * second)
      << "the input of the first one needs no gradient";
}

TEST(StepWork, Attention) {
  for (const bool causal : {false, true}) {
    Workload workload;
    for (int i = 0; i < 3; ++i) workload.parameters.push_back(parameter({2, 4, 32, 16}));
    workload.loss = [causal](const Tensors& p, const Tensors&) {
      return at::scaled_dot_product_attention(p[0], p[1], p[2], {}, 0.0, causal).sum();
    };
    const double pairs = 2 * 4 * (causal ? 32 * 33 / 2 : 32 * 32);
    EXPECT_EQ(work_of_step(workload).flops, 6 * 2 * 16 * pairs) << causal;
  }
}

TEST(StepWork, RecurrentLayers) {
  const auto work = work_of_step(make_workload("lstm_module"));
  const double products = 2 * 32 * 32 * 1024 * 256.0;  // of all steps, with inputs or with states
  EXPECT_GE(work.flops, 5 * products);                 // the inputs need no gradient
  EXPECT_LE(work.flops, 6 * products);
}

}  // namespace
}  // namespace antegrad::benchmarks
