// Numbers that nodes have saved and that differ from pass to pass are inputs of the graph after the second
// value.
#include <cmath>

#include "cpu/compiled_autograd/compiled_autograd_fixture.h"

namespace antegrad::test {
namespace {

class CompiledAutogradNumbersTest : public CompiledAutogradTest {
 protected:
  /// Compares with the engine for many values and returns the number of captures that led to code.
  static uint64_t captures_of(const std::function<Tensor(const Tensor&, double)>& program) {
    compiled_autograd::reset();
    for (const double number : {0.7, 1.3, 2.25, 0.31, 3.5, 1.75, 0.7, 5.5})
      same_as_eager([&] {
        const auto x = leaf({3, 4});
        program(x, number).sum().backward();
        return Tensors{x.grad()};
      });
    return stats().captures;
  }
};

TEST_F(CompiledAutogradNumbersTest, OfLibTorchsOpsNeedTwoCaptures) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&, double)>>> programs{
      {"alpha", [](const Tensor& x, double a) { return torch::sub(x.sin(), x, a).tanh(); }},
      {"pow", [](const Tensor& x, double a) { return x.sigmoid().pow(a).tanh(); }},
      {"base", [](const Tensor& x, double a) { return torch::pow(a, x).tanh(); }},
      {"addcmul", [](const Tensor& x, double a) { return torch::addcmul(x, x.sin(), x.cos(), a).tanh(); }},
      {"addcdiv", [](const Tensor& x, double a) { return torch::addcdiv(x, x, x.cosh(), a).tanh(); }},
      {"lerp", [](const Tensor& x, double a) { return x.sin().lerp(x.cos(), a / 8).tanh(); }},
      {"clamp", [](const Tensor& x, double a) { return x.sin().clamp(-a / 3, a / 3).tanh(); }},
      {"clamp_min", [](const Tensor& x, double a) { return x.sin().clamp_min(a / 9).tanh(); }},
      {"threshold", [](const Tensor& x, double a) { return torch::threshold(x.sin(), a / 9, 0.5).tanh(); }},
      {"leaky_relu", [](const Tensor& x, double a) { return torch::leaky_relu(x.sin(), a / 9).tanh(); }},
      {"elu", [](const Tensor& x, double a) { return torch::elu(x.sin(), a).tanh(); }},
      {"softplus", [](const Tensor& x, double a) { return torch::softplus(x.sin(), a).tanh(); }},
      {"addmm",
       [](const Tensor& x, double a) { return torch::addmm(x, x.sin(), x.t().mm(x), a, a + 1).tanh(); }},
  };
  for (const auto& [name, program] : programs) {
    SCOPED_TRACE(name);
    EXPECT_EQ(captures_of(program), 2u);
  }
}

struct Damped : torch::autograd::Function<Damped> {
  static constexpr bool is_traceable = true;
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, double rate) {
    context->save_for_backward({x});
    context->saved_data["rate"] = rate;
    return x.sin() * std::exp(-rate);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto rate = context->saved_data["rate"].toDouble();
    const auto cosine = context->get_saved_variables()[0].cos();
    if (rate > 3) return {gradients[0] * cosine * std::exp(-rate) + 0 * cosine, Tensor()};
    return {gradients[0] * cosine * std::exp(-rate), Tensor()};
  }
};

TEST_F(CompiledAutogradNumbersTest, OfCustomFunctionsMayBeComputedWithAndBranchedOn) {
  const auto captures =
      captures_of([](const Tensor& x, double rate) { return Damped::apply(x, rate).tanh(); });
  EXPECT_EQ(captures, 4u) << "two for each branch";
}

TEST_F(CompiledAutogradNumbersTest, SpecialValuesAreEagers) {
  for (const double number : {0.5, 1.5, 0.0, 1.0, -1.0, 2.0, 3.0, 0.5, std::nan("")})
    same_as_eager([&] {
      const auto x = leaf({3, 4});
      (x.sigmoid().pow(number) + torch::leaky_relu(x.sin(), number) + torch::sub(x, x.cos(), number))
          .sum()
          .backward();
      return Tensors{x.grad()};
    });
}

}  // namespace
}  // namespace antegrad::test
