// Tests of the gradient fuzzer itself: it accepts eager, and it detects compilers with known defects.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "fuzz/gradient_check.h"
#include "fuzz/shrink.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

/// Programs are tiny: worker threads would only wait for each other.
const int kThreads = (at::set_num_threads(1), at::get_num_threads());

GeneratorConfig with_gradients() {
  GeneratorConfig config;
  config.gradients = true;
  config.max_statements = 14;
  return config;
}

/// A compiler with one defect.
struct WrongGradients {
  std::string name;
  std::string symptom;  ///< the part of the difference that names the defect
  Compile compile;
};

Compile spoil_each(std::function<Tensor(const Tensor&)> how) {
  return [how](const Fn& function) -> Fn {
    return [=](const Tensors& inputs) {
      Tensors outputs = function(inputs);
      for (Tensor& output : outputs)
        if (output.defined() && output.requires_grad()) output = how(output);
      return outputs;
    };
  };
}

/// Changes gradients on their way into the function.
Compile spoil_gradients(std::function<Tensor(const Tensor&)> how) {
  return spoil_each([how](const Tensor& output) {
    output.register_hook(how);
    return output;
  });
}

Fn swallowing_errors(const Fn& function) {
  return [=](const Tensors& inputs) {
    try {
      return function(inputs);
    } catch (const c10::Error&) {
      return Tensors();
    }
  };
}

std::vector<WrongGradients> wrong_gradients() {
  return {
      {"detaches outputs", "requires_grad is 1 in eager",
       spoil_each([](const Tensor& t) { return t.is_leaf() ? t : t.detach(); })},
      {"makes leaves", "grad_fn()",
       spoil_each([](const Tensor& t) { return t.is_leaf() ? t : t.detach().requires_grad_(); })},
      {"doubles gradients", "backward: gradient", spoil_gradients([](const Tensor& g) { return g * 2; })},
      {"doubles gradients of subsets", "subset: gradient",
       spoil_gradients([](const Tensor& g) { return g * 2; })},
      {"is off in the ninth digit", "in eager and",
       spoil_gradients([](const Tensor& g) { return g * (1 + 1e-9); })},
      {"has no second order", "requires grad only in eager",
       spoil_gradients([](const Tensor& g) { return g.detach(); })},
      {"has a wrong second order", "the second order: gradient",
       spoil_gradients([](const Tensor& g) { return g * 2 - g.detach(); })},
      {"throws in backward", "only compiled threw",
       spoil_gradients([](const Tensor& g) -> Tensor { TORCH_CHECK(false, "no backward for ", g.sizes()); })},
      {"swallows errors", "only eager threw", swallowing_errors},
  };
}

bool defect_shows(const WrongGradients& compiler, const Program& program) {
  const auto difference = check_gradients(program, compiler.compile).difference;
  return difference && difference->find(compiler.symptom) != std::string::npos;
}

TEST(GradientHarness, EagerEqualsItself) {
  int first = 0, second = 0, threw = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Program program = generate(seed, with_gradients());
    const GradientResult result = check_gradients(program, [](Fn function) { return function; });
    ASSERT_FALSE(result.difference) << *result.difference << "\n" << to_string(program);
    first += result.first_order > 0;
    second += result.second_order > 0;
    threw += result.eager_threw;
  }
  EXPECT_GE(first, 600);
  EXPECT_GE(second, 350);
  EXPECT_GE(threw, 20);
}

class WrongGradientsTest : public ::testing::TestWithParam<WrongGradients> {};

TEST_P(WrongGradientsTest, IsCaughtByAShrunkProgram) {
  uint64_t seed = 0;
  while (seed < 200 && !defect_shows(GetParam(), generate(seed, with_gradients()))) ++seed;
  ASSERT_LT(seed, 200U) << "no difference spoke of '" << GetParam().symptom << "'";
  const Program small =
      shrink(generate(seed, with_gradients()), [](const Program& p) { return defect_shows(GetParam(), p); });
  EXPECT_TRUE(defect_shows(GetParam(), small));
  EXPECT_LE(small.statements.size(), 3U) << to_string(small);
  EXPECT_LE(small.outputs.size(), 2U) << to_string(small);
}

INSTANTIATE_TEST_SUITE_P(GradientHarness, WrongGradientsTest, ::testing::ValuesIn(wrong_gradients()),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace antegrad::fuzz
