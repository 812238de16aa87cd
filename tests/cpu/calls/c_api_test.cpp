// The C API gives eager's results: TorchScript files and graphs, values and gradients, memory of the caller
// or of the library.
#include <antegrad/antegrad.h>

#include <thread>

#include "support/c_functions.h"
#include "support/same_as_eager.h"

namespace antegrad::test {
namespace {

using at::Tensor;

const char* kEnergy = R"(
def forward(self, x, scale):
    return (torch.tanh(torch.matmul(x, self.weight)) * scale).pow(2).sum()
)";
const char* kTwoResults = R"(
def forward(self, x):
    y = torch.matmul(x, self.weight)
    return y.sin(), y.t()
)";

Tensor energy_of(const torch::jit::Module& module, const Tensor& x, const Tensor& scale) {
  return (x.matmul(module.attr("weight").toTensor().detach()).tanh() * scale).pow(2).sum();
}

/// Returns the value and both gradients, which the C API allocates.
std::vector<Tensor> by_c(antegrad_function* function, const Tensor& x, const Tensor& scale) {
  const antegrad_tensor inputs[] = {view_of(x), view_of(scale)};
  const size_t wanted[] = {1, 0};
  antegrad_tensor value{}, gradients[2] = {};
  EXPECT_EQ(antegrad_value_and_gradients(function, inputs, 2, wanted, 2, &value, gradients), ANTEGRAD_OK)
      << antegrad_last_error();
  std::vector<Tensor> out = {copy_of(value), copy_of(gradients[0]), copy_of(gradients[1])};
  for (auto* tensor : {&value, &gradients[0], &gradients[1]}) {
    EXPECT_NE(tensor->owner, nullptr);
    antegrad_tensor_free(tensor);
    EXPECT_EQ(tensor->data, nullptr);
    antegrad_tensor_free(tensor);  // a second free does nothing
  }
  return out;
}

std::vector<Tensor> by_eager(const torch::jit::Module& module, const Tensor& x, const Tensor& scale) {
  auto a = x.detach().clone().requires_grad_(), b = scale.detach().clone().requires_grad_();
  auto value = energy_of(module, a, b);
  auto gradients = torch::autograd::grad({value}, {b, a});
  return {value.detach(), gradients[0], gradients[1]};
}

TEST(CApi, ValueAndGradientsAtManySizes) {
  const auto module = script_module(kEnergy);
  const auto function = load_script(module);
  for (const int64_t rows : {4, 7, 5, 1, 12, 7}) {
    const auto x = torch::randn({rows, 3}, at::kDouble), scale = torch::randn({2}, at::kDouble);
    EXPECT_TRUE(same(by_eager(module, x, scale), by_c(function.get(), x, scale))) << rows;
  }
}

TEST(CApi, OneGradientAndNoValue) {
  const auto module = script_module(kEnergy);
  const auto function = load_script(module);
  const auto x = torch::randn({4, 3}, at::kDouble), scale = torch::randn({2}, at::kDouble);
  const antegrad_tensor inputs[] = {view_of(x), view_of(scale)};
  const size_t wanted[] = {0};
  auto memory = torch::full({4, 3}, 7, at::kDouble);
  auto gradient = view_of(memory);
  ASSERT_EQ(antegrad_value_and_gradients(function.get(), inputs, 2, wanted, 1, nullptr, &gradient),
            ANTEGRAD_OK)
      << antegrad_last_error();
  EXPECT_EQ(gradient.data, memory.data_ptr());
  EXPECT_EQ(gradient.owner, nullptr);
  EXPECT_TRUE(same(by_eager(module, x, scale)[2], memory));
  antegrad_tensor_free(&gradient);  // the caller's memory is not freed
  EXPECT_EQ(gradient.data, memory.data_ptr());
}

TEST(CApi, AGradientOfWhatDoesNotMatterIsZero) {
  const auto module = script_module("def forward(self, x, y):\n    return x.sum()\n");
  const auto function = load_script(module);
  const auto x = torch::randn({4}, at::kDouble), y = torch::randn({5}, at::kDouble);
  EXPECT_TRUE(same({x.sum(), torch::zeros({5}, at::kDouble), torch::ones({4}, at::kDouble)},
                   by_c(function.get(), x, y)));
}

TEST(CApi, SeveralResultsRowMajor) {
  const auto module = script_module(kTwoResults);
  const auto function = load_script(module);
  const auto x = torch::randn({5, 3}, at::kDouble);
  const auto y = x.matmul(module.attr("weight").toTensor().detach());
  const auto input = view_of(x);
  auto memory = torch::zeros({100}, at::kDouble);
  antegrad_tensor outputs[2] = {};
  outputs[1] = view_of(memory);
  ASSERT_EQ(antegrad_call(function.get(), &input, 1, outputs, 2), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(same(y.sin(), copy_of(outputs[0])));
  EXPECT_EQ(outputs[1].data, memory.data_ptr());
  EXPECT_EQ(outputs[1].bytes, 800u);  // the size of the caller's memory does not change
  EXPECT_TRUE(same(y.t().contiguous(), copy_of(outputs[1])));
  EXPECT_EQ(memory[10].item<double>(), 0);
  antegrad_tensor_free(&outputs[0]);
}

TEST(CApi, ResultsAreTheCallersAlone) {
  const auto function = load_script(script_module(
      "def forward(self, x):\n    y = x * 2.0\n    return x, y, y.view(-1), self.weight, self.weight\n"));
  auto x = torch::randn({4, 3}, at::kDouble);
  const auto before = x.clone();
  const auto input = view_of(x);
  std::vector<Tensor> first;
  for (int call = 0; call < 2; ++call) {
    antegrad_tensor outputs[5] = {};
    ASSERT_EQ(antegrad_call(function.get(), &input, 1, outputs, 5), ANTEGRAD_OK) << antegrad_last_error();
    if (call == 0)
      for (const auto& output : outputs) first.push_back(copy_of(output));
    for (size_t i = 0; i < 5; ++i) EXPECT_TRUE(same(first[i], copy_of(outputs[i]))) << i;
    for (size_t i = 0; i < 5; ++i) {  // writing to one changes nothing else
      const auto others = copy_of(outputs[(i + 1) % 5]);
      std::memset(outputs[i].data, 0, outputs[i].bytes);
      EXPECT_TRUE(same(others, copy_of(outputs[(i + 1) % 5]))) << i;
    }
    for (auto& output : outputs) antegrad_tensor_free(&output);
  }
  EXPECT_TRUE(same(before, x));
}

TEST(CApi, OutputsOutliveTheFunction) {
  auto function = load_script(script_module(kTwoResults));
  const auto x = torch::ones({1, 3}, at::kDouble);
  const auto input = view_of(x);
  antegrad_tensor outputs[2] = {};
  ASSERT_EQ(antegrad_call(function.get(), &input, 1, outputs, 2), ANTEGRAD_OK);
  const auto before = copy_of(outputs[0]);
  function.reset();
  EXPECT_TRUE(same(before, copy_of(outputs[0])));
  for (auto& output : outputs) antegrad_tensor_free(&output);
}

TEST(CApi, NoElements) {
  const auto function = load_script(script_module(kTwoResults));
  const auto x = torch::empty({0, 3}, at::kDouble);
  const auto input = view_of(x);
  antegrad_tensor outputs[2] = {};
  ASSERT_EQ(antegrad_call(function.get(), &input, 1, outputs, 2), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_EQ(outputs[0].dims, 2);
  EXPECT_EQ(outputs[0].sizes[0], 0);
  EXPECT_EQ(outputs[0].sizes[1], 2);
  for (auto& output : outputs) antegrad_tensor_free(&output);
}

TEST(CApi, EvaluationMode) {
  const auto function =
      load_script(script_module("def forward(self, x):\n    return torch.dropout(x, 0.5, self.training)\n"));
  const auto x = torch::randn({50}, at::kDouble);
  const auto input = view_of(x);
  antegrad_tensor output{};
  ASSERT_EQ(antegrad_call(function.get(), &input, 1, &output, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(same(x, copy_of(output)));
  antegrad_tensor_free(&output);
}

/// Returns the text of a graph with gradients with respect to both arguments, or without gradients.
std::string graph_text(const torch::jit::Module& module, bool joint) {
  const auto energy = [&](const Tensor& x, const Tensor& scale) { return energy_of(module, x, scale); };
  const auto x = torch::randn({4, 3}, at::kDouble).set_requires_grad(joint);
  const auto scale = torch::randn({2}, at::kDouble).set_requires_grad(joint);
  return joint ? export_joint(energy, x, scale).graph() : export_inference(energy, x, scale).graph();
}

TEST(CApi, GraphWithGradients) {
  const auto module = script_module(kEnergy);
  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_graph(graph_text(module, true).c_str(), nullptr, &loaded), ANTEGRAD_OK)
      << antegrad_last_error();
  const FunctionHandle function(loaded);
  const auto weight = module.attr("weight").toTensor().detach();
  for (int call = 0; call < 3; ++call) {
    const auto x = torch::randn({4, 3}, at::kDouble), scale = torch::randn({2}, at::kDouble);
    const antegrad_tensor inputs[] = {view_of(x), view_of(scale), view_of(weight)};
    const size_t wanted[] = {1, 0};
    antegrad_tensor value{}, gradients[2] = {};
    ASSERT_EQ(antegrad_value_and_gradients(loaded, inputs, 3, wanted, 2, &value, gradients), ANTEGRAD_OK)
        << antegrad_last_error();
    EXPECT_TRUE(
        same(by_eager(module, x, scale), {copy_of(value), copy_of(gradients[0]), copy_of(gradients[1])}));
    for (auto* tensor : {&value, &gradients[0], &gradients[1]}) antegrad_tensor_free(tensor);
    ASSERT_EQ(antegrad_call(loaded, inputs, 3, &value, 1), ANTEGRAD_OK) << antegrad_last_error();
    EXPECT_TRUE(same(by_eager(module, x, scale)[0], copy_of(value)));
    antegrad_tensor_free(&value);
  }
}

TEST(CApi, GraphOfAnExpandedArgument) {
  const auto exported =
      export_inference([](const Tensor& x) { return x + 1; }, torch::ones({1, 3}).expand({4, 3}));
  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_graph(exported.graph().c_str(), nullptr, &loaded), ANTEGRAD_OK)
      << antegrad_last_error();
  const FunctionHandle function(loaded);
  const auto x = torch::randn({4, 3});
  const auto input = view_of(x);
  antegrad_tensor value{};
  ASSERT_EQ(antegrad_call(loaded, &input, 1, &value, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(copy_of(value).equal(x + 1));
  antegrad_tensor_free(&value);
}

TEST(CApi, GraphWithoutGradients) {
  const auto module = script_module(kEnergy);
  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_graph(graph_text(module, false).c_str(), nullptr, &loaded), ANTEGRAD_OK)
      << antegrad_last_error();
  const FunctionHandle function(loaded);
  const auto weight = module.attr("weight").toTensor().detach();
  const auto x = torch::randn({4, 3}, at::kDouble), scale = torch::randn({2}, at::kDouble);
  const antegrad_tensor inputs[] = {view_of(x), view_of(scale), view_of(weight)};
  antegrad_tensor value{};
  ASSERT_EQ(antegrad_call(loaded, inputs, 3, &value, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(same(energy_of(module, x, scale), copy_of(value)));
  antegrad_tensor_free(&value);
}

TEST(CApi, ManyThreadsCallOneFunction) {
  const auto module = script_module(kEnergy);
  const auto function = load_script(module);
  std::vector<std::thread> threads;
  std::vector<::testing::AssertionResult> results(4, ::testing::AssertionSuccess());
  for (size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int call = 0; call < 10; ++call) {
        const auto x = torch::randn({4 + static_cast<int64_t>(thread), 3}, at::kDouble);
        const auto scale = torch::randn({2}, at::kDouble);
        const auto result = same(by_eager(module, x, scale), by_c(function.get(), x, scale));
        if (!result) results[thread] = result;
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_TRUE(result);
}

}  // namespace
}  // namespace antegrad::test
