// Training steps and optimizers of the C API, against the same program trained eagerly in C++.
#include <antegrad/c.h>
#include <antegrad/program.h>
#include <torch/torch.h>

#include "cpu/programs/sample_programs.h"
#include "support/c_functions.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

using at::Tensor;

struct FreeTrainer {
  void operator()(antegrad_trainer* trainer) const { antegrad_trainer_free(trainer); }
};
using TrainerHandle = std::unique_ptr<antegrad_trainer, FreeTrainer>;

FunctionHandle load_gpt() {
  antegrad_function* function = nullptr;
  EXPECT_EQ(antegrad_load_program(sample_path("gpt").c_str(), nullptr, &function), ANTEGRAD_OK)
      << antegrad_last_error();
  return FunctionHandle(function);
}

TrainerHandle make_trainer(const FunctionHandle& program, const char* optimizer) {
  antegrad_trainer* trainer = nullptr;
  EXPECT_EQ(antegrad_trainer_create(program.get(), optimizer, nullptr, &trainer), ANTEGRAD_OK)
      << antegrad_last_error();
  return TrainerHandle(trainer);
}

/// One step; returns the loss.
double train(const TrainerHandle& trainer) {
  std::vector<Tensor> kept;
  std::vector<antegrad_tensor> inputs;
  for (const auto& input : sample_inputs("gpt")) {
    kept.push_back(input.toTensor());
    inputs.push_back(view_of(kept.back()));
  }
  float loss = 0;
  antegrad_tensor output = {&loss, sizeof loss, ANTEGRAD_FLOAT32, 0, {0}, nullptr};
  EXPECT_EQ(antegrad_train(trainer.get(), inputs.data(), inputs.size(), &output, 1), ANTEGRAD_OK)
      << antegrad_last_error();
  return static_cast<double>(loss);
}

Tensor state_of(const FunctionHandle& program, const std::string& name) {
  antegrad_tensor out{};
  EXPECT_EQ(antegrad_state_get(program.get(), name.c_str(), &out), ANTEGRAD_OK) << antegrad_last_error();
  auto copy = copy_of(out);
  antegrad_tensor_free(&out);
  return copy;
}

void expect_same_parameters(const Program& expected, const FunctionHandle& program) {
  for (const auto& [name, parameter] : expected.named_parameters())
    EXPECT_TRUE(at::allclose(parameter.detach(), state_of(program, name), 1e-4, 1e-5)) << name;
}

TEST(CTrainer, TrainsAsCpp) {
  const auto eager = load_program(sample_path("gpt"));
  // Some gradients are nothing but rounding, which a small eps would amplify.
  torch::optim::AdamW optimizer(eager.parameters(),
                                torch::optim::AdamWOptions(0.01).weight_decay(0.1).eps(1e-3));
  const auto program = load_gpt();
  const auto trainer = make_trainer(program, "AdamW");
  for (const auto& [name, value] :
       {std::pair("lr", 0.01), {"weight_decay", 0.1}, {"eps", 1e-3}, {"clip_norm", 0.5}})
    ASSERT_EQ(antegrad_trainer_set(trainer.get(), name, value), ANTEGRAD_OK) << antegrad_last_error();
  for (int i = 0; i < 5; ++i) {
    optimizer.zero_grad();
    const auto loss = eager(sample_inputs("gpt")).toTensor();
    loss.backward();
    torch::nn::utils::clip_grad_norm_(eager.parameters(), 0.5);
    optimizer.step();
    EXPECT_NEAR(train(trainer), loss.item<double>(), 1e-4);
  }
  expect_same_parameters(eager, program);
}

TEST(CTrainer, ContinuesACheckpointAndSavesPrograms) {
  const auto path = temporary_path("optimizer.pt"), program_path = temporary_path("trained.pt2");
  const auto program = load_gpt();
  const auto trainer = make_trainer(program, "NAdam");
  for (int i = 0; i < 2; ++i) train(trainer);
  ASSERT_EQ(antegrad_trainer_save(trainer.get(), path.c_str()), ANTEGRAD_OK) << antegrad_last_error();
  ASSERT_EQ(antegrad_save_program(program.get(), program_path.c_str()), ANTEGRAD_OK);
  train(trainer);

  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_program(program_path.c_str(), nullptr, &loaded), ANTEGRAD_OK);
  const FunctionHandle other(loaded);
  const auto other_trainer = make_trainer(other, "NAdam");
  ASSERT_EQ(antegrad_trainer_load(other_trainer.get(), path.c_str()), ANTEGRAD_OK) << antegrad_last_error();
  train(other_trainer);
  size_t count = 0;
  ASSERT_EQ(antegrad_state_count(program.get(), &count), ANTEGRAD_OK);
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    ASSERT_EQ(antegrad_state_name(program.get(), i, &name), ANTEGRAD_OK);
    EXPECT_TRUE(at::allclose(state_of(program, name), state_of(other, name), 1e-5, 1e-6)) << name;
  }
}

TEST(CTrainer, SaysWhatIsWrong) {
  const auto program = load_gpt();
  antegrad_trainer* trainer = nullptr;
  EXPECT_EQ(antegrad_trainer_create(program.get(), "Newton", nullptr, &trainer),
            ANTEGRAD_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(antegrad_last_error(),
               "[c:trainer] there is no optimizer \"Newton\". docs/c-api.md lists them.");
  EXPECT_EQ(trainer, nullptr);
  EXPECT_EQ(antegrad_trainer_create(nullptr, "SGD", nullptr, &trainer), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  const auto sgd = make_trainer(program, "SGD");
  EXPECT_EQ(antegrad_trainer_set(sgd.get(), "beta1", 0.5), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(antegrad_last_error(),
               "[c:trainer] neither the optimizer nor the step has a number \"beta1\". docs/c-api.md lists "
               "them.");
  EXPECT_EQ(antegrad_trainer_set(sgd.get(), "lr", -1), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(antegrad_trainer_load(sgd.get(), "/absent/optimizer.pt"), ANTEGRAD_ERROR_LIBTORCH);
  const auto script = load_script(script_module("def forward(self, x):\n  return x * self.weight\n"));
  EXPECT_EQ(antegrad_trainer_create(script.get(), "SGD", nullptr, &trainer), ANTEGRAD_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace antegrad::test
