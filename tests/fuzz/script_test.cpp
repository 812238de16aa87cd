// Programs are printed as C++ that compiles by itself; `make fuzz` compiles some of them.
#include <ATen/ATen.h>
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include "fuzz/driver.h"
#include "fuzz/dynamic_check.h"
#include "fuzz/fusion_check.h"
#include "fuzz/gradient_check.h"
#include "fuzz/script.h"
#include "fuzz/script_text.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

Fn not_compiled(Fn function) { return function; }

std::string of_static(uint64_t seed, const GeneratorConfig& config = {}) {
  const Program program = generate(seed, config);
  Script script;
  if (config.gradients)
    check_gradients(program, not_compiled);
  else
    check(program, not_compiled);
  return script.program(c10::str("Seed ", seed));
}

std::string of_fusion(uint64_t seed) {
  const auto program = [&] {
    const at::NoGradGuard no_grad;
    return generate_fusion(seed);
  }();
  FusionWay way;
  way.options.backend = Backend::Eager;
  way.gradients = true;
  Script script;
  check_fusion(program, way);
  return script.program(c10::str("Seed ", seed));
}

std::string of_dynamic(uint64_t seed) {
  const auto program = generate_dynamic(seed);
  Options options;
  options.backend = Backend::Eager;
  Script script;
  check_dynamic(program, options);
  return script.program(c10::str("Seed ", seed));
}

GeneratorConfig with(bool GeneratorConfig::*on) {
  GeneratorConfig config;
  config.*on = true;
  config.max_statements = 12;
  return config;
}

/// Nothing is omitted: neither a value that cannot be printed, nor a function's statements.
void expect_complete(const std::string& text) {
  EXPECT_EQ(text.find("/* "), std::string::npos) << text;
  EXPECT_EQ(text.find("at::Storage()"), std::string::npos) << text;
  EXPECT_EQ(text.find(".view({})"), std::string::npos) << text;
  EXPECT_NE(text.find("at::_ops::"), std::string::npos) << text;
  EXPECT_NE(text.find("look(\"output of call 1"), std::string::npos) << text;
}

TEST(Script, EveryProgramCanBeWritten) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    expect_complete(of_static(seed));
    expect_complete(of_static(seed, with(&GeneratorConfig::awkward_numbers)));
    of_static(seed, with(&GeneratorConfig::gradients));
  }
  for (uint64_t seed = 0; seed < 8; ++seed) expect_complete(of_fusion(seed));
  for (uint64_t seed = 0; seed < 5; ++seed) expect_complete(of_dynamic(seed));
}

TEST(Script, TheFunctionIsWrittenOverItsInputs) {
  Script script;
  const at::Tensor a = at::arange(6).view({2, 3}), b = at::ones({3}).requires_grad_(true);
  script_call({a, b});
  at::Tensor c;
  {
    const at::NoGradGuard no_grad;
    c = at::mul(b, 0.1);
  }
  const at::Tensor d = std::get<0>(at::max(at::add(a, c, 2), 1, true));
  script_results({d});
  const auto text = script.program("A headline");
  for (const std::string part :
       {"// A headline\n",
        "at::Tensor u0; { const at::AutoGradMode mode(false); u0 = at::_ops::mul_Scalar::call(x[1], "
        "at::Scalar(0.10000000000000001)); }",
        "at::Tensor u1 = at::_ops::add_Tensor::call(x[0], u0, at::Scalar(int64_t{2}));",
        "auto t0 = at::_ops::max_dim::call(u1, int64_t{1}, true);", "return Tensors{std::get<0>(t0)};",
        ".requires_grad_(true);", "Tensors out1 = f(Tensors{"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Script, OtherSizesAreWrittenAsSizes) {
  Script script;
  for (const int64_t n : {4, 7}) {
    const at::Tensor x = at::ones({n, 3});
    script_call({x});
    const at::Tensor y = at::reshape(at::cat({x, x}, 0), {2 * n * 3});
    script_results({at::narrow(at::cat({x, x}), 0, 1, 2 * n - 1)});
  }
  const auto text = script.program("");
  EXPECT_NE(text.find("int64_t{2 * x[0].size(0) / 1 + -1}"), std::string::npos) << text;
}

TEST(Script, TensorsAreWrittenWithTheirDevice) {
  const auto x = at::arange(4, at::kDouble).view({2, 2});
  EXPECT_EQ(tensor_text(x),
            "at::tensor(std::vector<double>{0.0, 1.0, 2.0, 3.0}, at::kDouble).to(at::Device(\"cpu\"), "
            "at::ScalarType::Double).view(std::vector<int64_t>{2, 2})");
  if (!test::missing_cuda().empty()) GTEST_SKIP() << test::missing_cuda();
  const auto text = tensor_text(x.cuda().t());
  for (const std::string part : {"{0.0, 2.0, 1.0, 3.0}", "at::empty_strided({2, 2}, {1, 2}",
                                 ".device(at::Device(\"cuda:0\"))", ".to(at::Device(\"cuda:0\"), "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

/// Writes some programs to ANTEGRAD_FUZZ_SAVE, for scripts/fuzz.sh.
TEST(FreshScript, Programs) {
  if (std::getenv("ANTEGRAD_FUZZ_SAVE") == nullptr) GTEST_SKIP() << "ANTEGRAD_FUZZ_SAVE=folder writes some";
  saved("printed_static", 1, of_static(1));
  saved("printed_kept", 3, of_static(3, with(&GeneratorConfig::keeps_results)));
  saved("printed_gradient", 4, of_static(4, with(&GeneratorConfig::gradients)));
  saved("printed_fusion", 2, of_fusion(2));
  saved("printed_dynamic", 1, of_dynamic(1));
}

}  // namespace
}  // namespace antegrad::fuzz
