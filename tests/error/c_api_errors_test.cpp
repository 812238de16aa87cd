// What the C API reports for arguments that it cannot take. Such a call writes nothing.
#include <antegrad/antegrad.h>

#include <thread>

#include "error/expect_error.h"
#include "support/c_functions.h"

namespace antegrad::test {
namespace {

using antegrad::test::has_the_form;
using at::Tensor;

const char* kSource = R"(
def forward(self, x, n):
    return torch.matmul(x, self.weight).sum() + n.sum()
)";

void expect_status(antegrad_status wanted, const std::string& fact, antegrad_status status) {
  const std::string text = antegrad_last_error();
  EXPECT_EQ(status, wanted) << text;
  EXPECT_NE(text.find(fact), std::string::npos) << text << "\nlacks: " << fact;
  EXPECT_TRUE(wanted == ANTEGRAD_ERROR_LIBTORCH || has_the_form(text)) << text;
}

class CApiErrors : public ::testing::Test {
 protected:
  CApiErrors() : function_(load_script(script_module(kSource))) {
    inputs_[0] = view_of(x_);
    inputs_[1] = view_of(n_);
  }

  void expect_call(antegrad_status wanted, const std::string& fact, size_t inputs = 2) {
    auto output = view_of(memory_);
    expect_status(wanted, fact, antegrad_call(function_.get(), inputs_, inputs, &output, 1));
    EXPECT_TRUE(at::equal(memory_, torch::full({4}, 5, at::kDouble)));
  }
  void expect_gradients(antegrad_status wanted, const std::string& fact, std::vector<size_t> places) {
    antegrad_tensor gradients[3] = {};
    expect_status(wanted, fact,
                  antegrad_value_and_gradients(function_.get(), inputs_, 2, places.data(), places.size(),
                                               nullptr, gradients));
    EXPECT_EQ(gradients[0].data, nullptr);
  }

  FunctionHandle function_;
  Tensor x_ = torch::ones({4, 3}, at::kDouble), n_ = torch::ones({2}, at::kLong);
  Tensor memory_ = torch::full({4}, 5, at::kDouble);
  antegrad_tensor inputs_[2];
};

TEST_F(CApiErrors, Null) {
  constexpr auto kInvalid = ANTEGRAD_ERROR_INVALID_ARGUMENT;
  antegrad_function* none = nullptr;
  antegrad_tensor output{};
  const size_t wanted[] = {0};
  expect_status(kInvalid, "`path` is null", antegrad_load_script(nullptr, nullptr, &none));
  expect_status(kInvalid, "`text` is null", antegrad_load_graph(nullptr, nullptr, &none));
  expect_status(kInvalid, "`function` is null", antegrad_load_script("x", nullptr, nullptr));
  expect_status(kInvalid, "`function` is null", antegrad_call(nullptr, inputs_, 2, &output, 1));
  expect_status(kInvalid, "`inputs` is null", antegrad_call(function_.get(), nullptr, 2, &output, 1));
  expect_status(kInvalid, "`outputs` is null", antegrad_call(function_.get(), inputs_, 2, nullptr, 1));
  expect_status(kInvalid, "`gradients` is null",
                antegrad_value_and_gradients(function_.get(), inputs_, 2, wanted, 1, nullptr, nullptr));
  expect_status(kInvalid, "`wanted` is null",
                antegrad_value_and_gradients(function_.get(), inputs_, 2, nullptr, 1, nullptr, &output));
  expect_status(kInvalid, "`options` is null", antegrad_options_create(nullptr));
  expect_status(kInvalid, "`options` is null", antegrad_options_set(nullptr, "name", "x"));
  antegrad_function_free(nullptr);
  antegrad_options_free(nullptr);
  antegrad_tensor_free(nullptr);
}

TEST_F(CApiErrors, Inputs) {
  constexpr auto kInvalid = ANTEGRAD_ERROR_INVALID_ARGUMENT;
  const auto good = inputs_[0];
  inputs_[0].dtype = 99;
  expect_call(kInvalid, "the dtype of input 0 is 99");
  inputs_[0] = good;
  inputs_[0].data = nullptr;
  expect_call(kInvalid, "the data of input 0 is null");
  inputs_[0] = good;
  inputs_[0].dims = 9;
  expect_call(kInvalid, "input 0 has 9 dims");
  inputs_[0] = good;
  inputs_[0].sizes[1] = -3;
  expect_call(kInvalid, "input 0 has a size of -3");
  inputs_[0] = good;
  inputs_[0].sizes[0] = 5;
  expect_call(kInvalid, "input 0 has 96 bytes where its sizes ask for 120");
  inputs_[0] = good;
  inputs_[0].sizes[0] = inputs_[0].sizes[1] = int64_t{1} << 62;
  expect_call(kInvalid, "more bytes than can be addressed");
  inputs_[0] = good;
  inputs_[0].data = static_cast<char*>(good.data) + 1;
  inputs_[0].bytes = 0;
  expect_call(kInvalid, "not aligned");
  inputs_[0] = good;
  expect_call(kInvalid, "1 inputs were given where forward() takes 2", 1);
}

TEST_F(CApiErrors, WhatLibTorchRejects) {
  inputs_[0].sizes[0] = 6;  // {6, 2}, while the weight is {3, 2}
  inputs_[0].sizes[1] = 2;
  expect_call(ANTEGRAD_ERROR_LIBTORCH, "mat1 and mat2");
  const auto floats = torch::ones({4, 3});
  inputs_[0] = view_of(floats);
  expect_call(ANTEGRAD_ERROR_LIBTORCH, "dtype");
}

TEST_F(CApiErrors, Outputs) {
  auto output = view_of(memory_);
  output.dtype = ANTEGRAD_FLOAT32;
  expect_status(ANTEGRAD_ERROR_INVALID_ARGUMENT,
                "result 0 is of the dtype Double where the memory for it is of Float",
                antegrad_call(function_.get(), inputs_, 2, &output, 1));
  antegrad_tensor two[2] = {};
  expect_status(ANTEGRAD_ERROR_INVALID_ARGUMENT, "the function has 1 results, but 2 outputs were given",
                antegrad_call(function_.get(), inputs_, 2, two, 2));
}

TEST_F(CApiErrors, OutputTooSmall) {
  const auto function =
      load_script(script_module("def forward(self, x):\n    return x + 1.0, torch.matmul(x, self.weight)\n"));
  antegrad_tensor outputs[2] = {};
  outputs[1] = view_of(memory_);
  expect_status(ANTEGRAD_ERROR_BUFFER_TOO_SMALL, "result 1 has 64 bytes, and there is room for 32",
                antegrad_call(function.get(), inputs_, 1, outputs, 2));
  EXPECT_EQ(outputs[0].data, nullptr);
  EXPECT_EQ(outputs[1].dims, 2);  // the size that is needed
  EXPECT_EQ(outputs[1].sizes[0], 4);
  EXPECT_EQ(outputs[1].sizes[1], 2);
  EXPECT_TRUE(at::equal(memory_, torch::full({4}, 5, at::kDouble)));
}

TEST_F(CApiErrors, Gradients) {
  constexpr auto kInvalid = ANTEGRAD_ERROR_INVALID_ARGUMENT;
  expect_gradients(kInvalid, "the gradient with respect to input 2 is wanted, but there are 2 inputs", {2});
  expect_gradients(kInvalid, "the gradient with respect to input 1 is wanted, whose dtype is Long", {0, 1});
  expect_gradients(kInvalid, "the gradient with respect to input 0 is wanted twice", {0, 0});
  const auto several = load_script(script_module("def forward(self, x):\n    return x, x\n"));
  const auto vector = load_script(script_module("def forward(self, x):\n    return x * 2.0\n"));
  const size_t wanted[] = {0};
  antegrad_tensor gradient{};
  expect_status(kInvalid, "forward() returns 2 tensors",
                antegrad_value_and_gradients(several.get(), inputs_, 1, wanted, 1, nullptr, &gradient));
  expect_status(kInvalid, "the function returns a tensor of sizes [4, 3]",
                antegrad_value_and_gradients(vector.get(), inputs_, 1, wanted, 1, nullptr, &gradient));
}

TEST_F(CApiErrors, Files) {
  antegrad_function* none = reinterpret_cast<antegrad_function*>(this);
  expect_status(ANTEGRAD_ERROR_IO, "cannot read \"/no/such/file.pt\": No such file",
                antegrad_load_script("/no/such/file.pt", nullptr, &none));
  EXPECT_EQ(none, nullptr);
  expect_status(ANTEGRAD_ERROR_FORMAT, "is no TorchScript file",
                antegrad_load_script(ANTEGRAD_SOURCE_DIR "/README.md", nullptr, &none));
  expect_status(ANTEGRAD_ERROR_FORMAT, "line 1, column 1", antegrad_load_graph("nonsense", nullptr, &none));
  expect_status(
      ANTEGRAD_ERROR_FORMAT, "no exported one",
      antegrad_load_graph("graph @f traced { in %0: f32[4] user \"x\" out %0 user \"y\" }", nullptr, &none));
}

TEST_F(CApiErrors, Graphs) {
  const auto square = [](const Tensor& x) { return x.pow(2).sum(); };
  const auto text = export_inference(square, torch::ones({3})).graph();
  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_graph(text.c_str(), nullptr, &loaded), ANTEGRAD_OK) << antegrad_last_error();
  const FunctionHandle function(loaded);
  antegrad_tensor output{};
  const size_t wanted[] = {0};
  expect_status(ANTEGRAD_ERROR_INVALID_ARGUMENT, "input 'arg0' is f64[4,3] where the graph takes f32[3]",
                antegrad_call(loaded, inputs_, 1, &output, 1));
  expect_status(ANTEGRAD_ERROR_INVALID_ARGUMENT, "2 inputs were given where the graph has 1",
                antegrad_call(loaded, inputs_, 2, &output, 1));
  expect_status(ANTEGRAD_ERROR_UNSUPPORTED, "the graph has 1 results and 0 tangents",
                antegrad_value_and_gradients(loaded, inputs_, 1, wanted, 1, nullptr, &output));
}

TEST_F(CApiErrors, Unsupported) {
  const auto function = load_script(script_module("def forward(self, x):\n    return x[x > 0.0]\n"));
  antegrad_tensor output{};
  expect_status(ANTEGRAD_ERROR_UNSUPPORTED, "depends on the data",
                antegrad_call(function.get(), inputs_, 1, &output, 1));
}

TEST_F(CApiErrors, Options) {
  antegrad_options* options = nullptr;
  ASSERT_EQ(antegrad_options_create(&options), ANTEGRAD_OK);
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"name", "energy"},
                                                        {"unsupported", "eager"},
                                                        {"max_versions", "3"},
                                                        {"dynamic", "all"},
                                                        {"max_sizes", "9"},
                                                        {"check_recapture", "0"},
                                                        {"verify", "1"},
                                                        {"disabled_passes", "dead_code"},
                                                        {"rng", "eager"},
                                                        {"backend", "eager"},
                                                        {"toolchain", "auto"},
                                                        {"isa", "baseline"},
                                                        {"compile_failure", "eager"},
                                                        {"debug_compare", "0"},
                                                        {"cache", "off"},
                                                        {"cache_tag", "t"}})
    EXPECT_EQ(antegrad_options_set(options, name, value), ANTEGRAD_OK) << antegrad_last_error();
  constexpr auto kInvalid = ANTEGRAD_ERROR_INVALID_ARGUMENT;
  expect_status(kInvalid, "there is no option \"speed\"", antegrad_options_set(options, "speed", "high"));
  expect_status(kInvalid, "\"sometimes\" is no value of the option dynamic. Use one of auto, all, none",
                antegrad_options_set(options, "dynamic", "sometimes"));
  expect_status(kInvalid, "\"yes\" is no value of the option verify. Use 0 or 1",
                antegrad_options_set(options, "verify", "yes"));
  expect_status(kInvalid, "\"0\" is no value of the option max_versions",
                antegrad_options_set(options, "max_versions", "0"));

  // With unsupported=eager, a function that cannot be captured runs uncompiled.
  const ScriptFile file(script_module("def forward(self, x):\n    return x[x > 0.0]\n"));
  antegrad_function* loaded = nullptr;
  ASSERT_EQ(antegrad_load_script(file.path(), options, &loaded), ANTEGRAD_OK) << antegrad_last_error();
  antegrad_options_free(options);
  const FunctionHandle function(loaded);
  antegrad_tensor output{};
  ASSERT_EQ(antegrad_call(loaded, inputs_, 1, &output, 1), ANTEGRAD_OK) << antegrad_last_error();
  EXPECT_TRUE(at::equal(copy_of(output), torch::ones({12}, at::kDouble)));
  antegrad_tensor_free(&output);
}

TEST_F(CApiErrors, ErrorsBelongToTheirThread) {
  antegrad_function* none = nullptr;
  std::thread([&] {
    EXPECT_STREQ(antegrad_last_error(), "");
    antegrad_load_graph("nonsense", nullptr, &none);
  }).join();
  EXPECT_EQ(std::string(antegrad_last_error()).find("nonsense"), std::string::npos);
  expect_status(ANTEGRAD_ERROR_INVALID_ARGUMENT, "0 threads are asked for", antegrad_set_threads(0));
  EXPECT_EQ(antegrad_set_threads(at::get_num_threads()), ANTEGRAD_OK);
  EXPECT_STREQ(antegrad_version(), "0.1.0");
}

}  // namespace
}  // namespace antegrad::test
