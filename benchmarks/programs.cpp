#include "programs.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace antegrad::benchmarks {
namespace {

constexpr int64_t kStepsPerLayer = 12;
constexpr int64_t kSide = 8;

}  // namespace

MixedProgram::MixedProgram(int64_t ops) : ops_(ops) {
  for (int64_t layer = 0; layer * kStepsPerLayer < ops; ++layer) {
    weights_.push_back(at::randn({kSide, kSide}).set_requires_grad(true));
    biases_.push_back(at::randn({kSide}).set_requires_grad(true));
  }
}

at::Tensor MixedProgram::example_input() { return at::randn({kSide, kSide}); }

at::Tensor MixedProgram::operator()(const at::Tensor& input) const {
  auto x = input;
  at::Tensor rows;
  for (int64_t i = 0; i < ops_; ++i) {
    const auto layer = static_cast<size_t>(i / kStepsPerLayer);
    switch (i % kStepsPerLayer) {
      case 0:
        x = at::mm(x, weights_[layer]);
        break;
      case 1:
        x = x + biases_[layer];
        break;
      case 2:
        x = at::relu(x);
        break;
      case 3:
        rows = at::sum(x, {1}, /*keepdim=*/true);
        break;
      case 4:
        x = x - rows;
        break;
      case 5:
        x = x.view({kSide / 2, kSide * 2});
        break;
      case 6:
        x = at::tanh(x);
        break;
      case 7:
        x = x.view({kSide, kSide});
        break;
      case 8:
        x = x.transpose(0, 1);
        break;
      case 9:
        x = x * 0.5;
        break;
      case 10:
        x.add_(1);
        break;
      case 11:
        x = at::softmax(x, 1);
        break;
    }
  }
  return x;
}

at::Tensor pointwise_chain(const at::Tensor& x) {
  auto y = x;
  for (int i = 0; i < 10; ++i) y = at::sigmoid(at::tanh(at::relu(at::add(y, x)).mul(0.5)));
  return y;
}

}  // namespace antegrad::benchmarks
