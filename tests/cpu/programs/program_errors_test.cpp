// What is refused of programs and their arguments, with node, line of Python and way out.
#include <antegrad/antegrad.h>
#include <antegrad/c.h>
#include <antegrad/program.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "cpu/programs/sample_programs.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

template <class Call>
void expect_refused(ErrorCode code, const std::string& fact, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error: " << fact;
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(fact), std::string::npos) << error.what();
  }
}

TEST(ProgramErrors, FilesThatAreNoPrograms) {
  expect_refused(ErrorCode::Io, "cannot read", [] { load_program("/absent.pt2"); });
  expect_refused(ErrorCode::Parse, "it is no zip archive", [] {
    load_program(sample_path("x").replace(sample_path("x").rfind("x.pt2"), 5, "expected.txt"));
  });
  expect_refused(ErrorCode::InvalidArgument, "has 2 programs", [] { load_program(sample_path("pair")); });
  expect_refused(ErrorCode::InvalidArgument, "no program \"test\"",
                 [] { load_program(sample_path("pair"), {.model = "test"}); });
}

TEST(ProgramErrors, UnknownOpsAreNamedWithTheirLineOfPython) {
  expect_refused(ErrorCode::UnsupportedOp, "at node twice (File \"make_samples.py\", line ",
                 [] { load_program(sample_path("custom")); });
}

TEST(ProgramErrors, ArgumentsThatTheProgramWasNotExportedFor) {
  const auto gpt = load_program(sample_path("gpt"));
  const auto ids = torch::zeros({2, 4}, torch::kLong);
  expect_refused(ErrorCode::InvalidArgument, "1 arguments", [&] { gpt({ids}); });
  expect_refused(ErrorCode::InvalidArgument, "is of Float", [&] { gpt({ids.to(torch::kFloat), ids}); });
  expect_refused(ErrorCode::InvalidArgument, "has 1 dimensions", [&] { gpt({ids[0], ids[0]}); });
  expect_refused(ErrorCode::InvalidArgument, "with these other sizes", [&] {
    gpt({ids, torch::zeros({3, 4}, torch::kLong)});
  });
  const auto long_ids = torch::zeros({600, 4}, torch::kLong);
  expect_refused(ErrorCode::InvalidArgument, "to 512", [&] { gpt({long_ids, long_ids}); });
  expect_refused(ErrorCode::InvalidArgument, "is 5, and the program was exported for 4", [] {
    load_program(sample_path("map"))({torch::ones({5, 3})});
  });
  const auto even = load_program(sample_path("even"));
  EXPECT_EQ(even({torch::ones({6, 3})}).toTensor().size(0), 3);
  expect_refused(ErrorCode::InvalidArgument, "", [&] { even({torch::ones({5, 3})}); });
  const auto guarded = load_program(sample_path("dynauto"));
  EXPECT_EQ(guarded({torch::ones({6, 3}), torch::ones({2, 3})}).toTensor().size(0), 4);
  expect_refused(ErrorCode::InvalidArgument, "% 6) == 0", [&] {
    guarded({torch::ones({6, 3}), torch::ones({3, 3})});
  });
  const auto kw = load_program(sample_path("kw"));
  const auto x = torch::ones({4, 3});
  const c10::List<at::Tensor> list({x, x});
  expect_refused(ErrorCode::InvalidArgument, "`scale` was a constant", [&] {
    kw({x}, {{"lst", list}, {"scale", 2.0}});
  });
  expect_refused(ErrorCode::InvalidArgument, "do not fit", [&] { kw({x}, {{"list", list}}); });
}

TEST(ProgramErrors, ReadsOfDataNameTheirNode) {
  const auto compiled = compile(load_program(sample_path("item")));
  expect_refused(ErrorCode::DataRead, "at node item", [&] { compiled.call(sample_inputs("item")); });
}

TEST(ProgramErrors, CFunctionsRunProgramsAndRefuseFiles) {
  antegrad_function* function = nullptr;
  EXPECT_EQ(antegrad_load_program("/absent.pt2", nullptr, &function), ANTEGRAD_ERROR_IO);
  ASSERT_EQ(antegrad_load_program(sample_path("even").c_str(), nullptr, &function), ANTEGRAD_OK);
  float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  antegrad_tensor input{x, sizeof x, ANTEGRAD_FLOAT32, 2, {4, 3}, nullptr}, output{};
  ASSERT_EQ(antegrad_call(function, &input, 1, &output, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_EQ(output.sizes[0], 2);
  EXPECT_FLOAT_EQ(static_cast<float*>(output.data)[0], (1 + 4) * 1.5F);
  antegrad_tensor_free(&output);
  antegrad_function_free(function);
}

antegrad_tensor floats(std::vector<float>& values, std::initializer_list<int64_t> sizes) {
  antegrad_tensor out{
      values.data(), values.size() * sizeof(float), ANTEGRAD_FLOAT32, static_cast<int32_t>(sizes.size()), {},
      nullptr};
  std::copy(sizes.begin(), sizes.end(), out.sizes);
  return out;
}

TEST(ProgramState, IsReadReplacedAndDifferentiatedByNameInC) {
  antegrad_function* function = nullptr;
  ASSERT_EQ(antegrad_load_program(sample_path("gpt").c_str(), nullptr, &function), ANTEGRAD_OK);
  const auto program = load_program(sample_path("gpt"));
  const auto named = program.named_parameters();
  size_t count = 0;
  ASSERT_EQ(antegrad_state_count(function, &count), ANTEGRAD_OK);
  ASSERT_EQ(count, named.size() + program.named_buffers().size());
  for (size_t i = 0; i < named.size(); ++i) {
    const char* name = nullptr;
    ASSERT_EQ(antegrad_state_name(function, i, &name), ANTEGRAD_OK);
    EXPECT_EQ(name, named[i].first);
    std::vector<float> values(static_cast<size_t>(named[i].second.numel()));
    auto tensor = floats(values, {});
    ASSERT_EQ(antegrad_state_get(function, name, &tensor), ANTEGRAD_OK) << antegrad_last_error();
    EXPECT_EQ(tensor.dims, named[i].second.dim());
    EXPECT_TRUE(torch::equal(torch::tensor(values), named[i].second.detach().flatten())) << name;
  }
  const auto ids = torch::randint(0, 32, {3, 5}), targets = torch::randint(0, 32, {3, 5});
  const antegrad_tensor inputs[] = {{ids.data_ptr(), 0, ANTEGRAD_INT64, 2, {3, 5}, nullptr},
                                    {targets.data_ptr(), 0, ANTEGRAD_INT64, 2, {3, 5}, nullptr}};
  const char* names[] = {"head.weight", "b.0.ln1.bias"};
  std::vector<float> head(32 * 16), bias(16), loss(1);
  const auto expect_gradients = [&] {
    antegrad_tensor value = floats(loss, {}), gradients[] = {floats(head, {}), floats(bias, {})};
    ASSERT_EQ(antegrad_value_and_state_gradients(function, inputs, 2, names, 2, &value, gradients),
              ANTEGRAD_OK)
        << antegrad_last_error();
    std::map<std::string, at::Tensor> parameters(named.begin(), named.end());
    const auto expected = program({ids, targets}).toTensor();
    const auto wanted = torch::autograd::grad({expected}, {parameters.at(names[0]), parameters.at(names[1])});
    EXPECT_NEAR(loss[0], expected.item<float>(), 1e-5);
    EXPECT_TRUE(torch::allclose(torch::tensor(head), wanted[0].flatten(), 1e-4, 1e-6));
    EXPECT_TRUE(torch::allclose(torch::tensor(bias), wanted[1].flatten(), 1e-4, 1e-6));
  };
  expect_gradients();
  // Replaced there and here.
  std::vector<float> other(16, 0.25F);
  const auto replaced = floats(other, {16});
  ASSERT_EQ(antegrad_state_set(function, "b.0.ln1.bias", &replaced), ANTEGRAD_OK) << antegrad_last_error();
  for (const auto& [name, tensor] : named)
    if (name == "b.0.ln1.bias") tensor.detach().fill_(0.25);
  expect_gradients();
  const auto saved = test::temporary_path("saved_by_c.pt2");
  ASSERT_EQ(antegrad_save_program(function, saved.c_str()), ANTEGRAD_OK);
  const auto again = load_program(saved).named_parameters();
  for (size_t i = 0; i < named.size(); ++i) EXPECT_TRUE(torch::equal(again[i].second, named[i].second));
  antegrad_function_free(function);
}

TEST(ProgramState, OfOtherNamesAndTypesIsRefusedInC) {
  antegrad_function* function = nullptr;
  ASSERT_EQ(antegrad_load_program(sample_path("gpt").c_str(), nullptr, &function), ANTEGRAD_OK);
  std::vector<float> other(16, 0.25F);
  const auto replaced = floats(other, {16});
  EXPECT_EQ(antegrad_state_set(function, "head.weight", &replaced), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(antegrad_last_error()).find("is Float[32, 16] in the program"), std::string::npos)
      << antegrad_last_error();
  EXPECT_EQ(antegrad_state_set(function, "tail", &replaced), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  const char* name = nullptr;
  EXPECT_EQ(antegrad_state_name(function, 1000, &name), ANTEGRAD_ERROR_INVALID_ARGUMENT);
  const char* absent = "tail";
  antegrad_tensor gradient{};
  EXPECT_EQ(antegrad_value_and_state_gradients(function, nullptr, 0, &absent, 1, nullptr, &gradient),
            ANTEGRAD_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(antegrad_last_error()).find("no parameter \"tail\""), std::string::npos);
  antegrad_function_free(function);
}

}  // namespace
}  // namespace antegrad::test
