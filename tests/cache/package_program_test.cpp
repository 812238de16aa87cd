// Packages of programs that Python has exported: losses, gradients and buffers are Python's.
#include "antegrad/program.h"
#include "cpu/programs/sample_programs.h"
#include "package_scene.h"

namespace {
using namespace antegrad;
using namespace antegrad::test;

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-6 + 2e-6 * std::abs(b); }

TEST(PackagesOfPrograms, GivePythonsResults) {
  const auto all = expected_results();
  for (const std::string name :
       {"mlp", "mlp_decomp", "gpt", "map", "mutation", "nograd", "autocast", "conv", "autogradgrad", "scan",
        "checkpoint", "views", "buffers", "buffers_decomp"}) {
    SCOPED_TRACE(name);
    PackageFile file("program_" + name);
    Options options;
    options.rng = Rng::Eager;
    {
      const auto compiled = antegrad::compile(load_program(sample_path(name)), options);
      compiled.explain(sample_inputs(name));  // writes no buffers
      package(file.path(), {{"train", compiled}});
    }
    const auto loaded = Package::load(file.path(), {.strict = true});
    torch::manual_seed(0);  // Python's
    const auto loss = loss_of(loaded.function("train").call(sample_inputs(name)));
    const auto& expected = all.at(name);
    EXPECT_TRUE(is_near(loss.item<double>(), expected.loss)) << loss.item<double>() << " " << expected.loss;
    loss.backward();
    size_t compared = 0;
    for (const auto& [weight, tensor] : loaded.weights()) {
      if (tensor.requires_grad()) {
        const auto sum = tensor.grad().to(torch::kDouble).pow(2).sum().item<double>();
        EXPECT_TRUE(is_near(sum, expected.gradients.at(weight))) << weight << ": " << sum;
        ++compared;
      } else if (expected.buffers.count(weight) > 0) {
        const auto sum = tensor.to(torch::kDouble).sum().item<double>();
        EXPECT_TRUE(is_near(sum, expected.buffers.at(weight))) << weight << ": " << sum;
      }
    }
    EXPECT_GT(compared, 0u);
  }
}

TEST(PackagesOfPrograms, ServeTheSizesThatPythonDeclared) {
  const auto program = load_program(sample_path("gpt"));
  const auto compiled = antegrad::compile(program);
  compiled.explain(sample_inputs("gpt"));
  PackageFile file;
  package(file.path(), {{"gpt", compiled}});
  const auto loaded = Package::load(file.path(), {.strict = true});
  const auto function = loaded.function("gpt");
  auto inputs = sample_inputs("gpt");
  for (auto& input : inputs) {
    const auto tensor = input.toTensor();
    input = torch::cat({tensor, tensor, tensor});
  }
  EXPECT_TRUE(torch::allclose(loss_of(function.call(inputs)), loss_of(compiled.call(inputs)), 1e-5));
}

}  // namespace
