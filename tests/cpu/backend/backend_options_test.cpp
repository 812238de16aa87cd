// Options of the backend: all ways to run a graph agree, compilers that fail, explain().
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/cache/kernel_cache.h"
#include "support/closeness.h"
#include "support/seeds.h"
#include "toolchain/isa.h"

namespace antegrad::test {
namespace {

using at::Tensor;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

Tensor network(const Tensor& x, const Tensor& w, const Tensor& b) {
  const auto h = at::gelu(at::addmm(b, x, w));
  return (at::softmax(h, 1) * h.sin() + at::layer_norm(h, {h.size(1)})).pow(2).mean();
}

/// A value and its gradients.
template <class F>
Tensors run(const F& function) {
  test::manual_seed(3);
  Tensors inputs = {torch::randn({17, 24}), torch::randn({24, 33}), torch::randn({33})};
  for (auto& input : inputs) input.set_requires_grad(true);
  const auto value = function(inputs[0], inputs[1], inputs[2]);
  auto results = torch::autograd::grad({value}, inputs);
  results.push_back(value);
  return results;
}

TEST(Backends, GiveTheSame) {
  Reference expected([] { return run(network); });
  for (auto backend : {Backend::Eager, Backend::NoFuse, Backend::Default}) {
    SCOPED_TRACE(static_cast<int>(backend));
    Options options;
    options.backend = backend;
    options.verify = true;
    EXPECT_EQ(expected.difference(run(compile(network, options))), std::nullopt);
  }
}

TEST(Backends, DebugCompareFindsNothingWrong) {
  Options options;
  options.debug_compare = true;
  Reference expected([] { return run(network); });
  EXPECT_EQ(expected.difference(run(compile(network, options))), std::nullopt);
}

TEST(Backends, DebugCompareWaitsForTheLastPartOfAConcatenation) {
  // Two heads that are concatenated: a kernel writes each part, with a matrix product between them.
  auto heads = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    const auto first = at::tanh(at::mm(x, w) + b);
    return at::cat({first, at::tanh(at::mm(first, w.t().mm(w)) + b)}, 1);
  };
  const auto x = torch::rand({17, 24}) + 1, w = torch::rand({24, 33}) * 0.1, b = torch::rand({33});
  Options options;
  options.debug_compare = true;
  const auto compiled = compile(heads, options);
  EXPECT_TRUE(at::allclose(heads(x, w, b), compiled(x, w, b), 1e-5, 1e-6));
}

TEST(Backends, DebugCompareKnowsWhatWasRoundedOnTheWay) {
  // The sum is computed in f32, whatever it is multiplied with.
  auto mixed = [](const Tensor& x, const Tensor& y) { return x.exp().sum({1}) * y; };
  const auto x = torch::randn({30, 70}), y = torch::randn({30}, torch::kDouble);
  Options options;
  options.debug_compare = true;
  const auto compiled = compile(mixed, options);
  EXPECT_TRUE(at::allclose(mixed(x, y), compiled(x, y), 1e-5, 1e-6));
}

TEST(Backends, EveryInstructionSetAndBothToolchains) {
  Reference expected([] { return run(network); });
  for (auto toolchain : {ToolchainChoice::Auto, ToolchainChoice::System})
    for (auto isa : toolchain::runnable_isas()) {
      SCOPED_TRACE(toolchain::isa_name(isa));
      Options options;
      options.toolchain = toolchain;
      options.isa = isa == toolchain::Isa::Baseline ? Isa::Baseline
                    : isa == toolchain::Isa::Avx2   ? Isa::Avx2
                                                    : Isa::Avx512;
      EXPECT_EQ(expected.difference(run(compile(network, options))), std::nullopt);
    }
}

TEST(Backends, EqualKernelsOfOtherFunctionsAreFound) {
  run(compile(network));
  const auto before = compiler::kernel_counts();
  auto again = compile([](const Tensor& x, const Tensor& w, const Tensor& b) { return network(x, w, b); });
  run(again);
  const auto after = compiler::kernel_counts();
  EXPECT_EQ(after.compiled, before.compiled);
  EXPECT_GT(after.found, before.found);
}

// CAP-19
TEST(Backends, BackwardPassesAreCompiledWhenFirstNeeded) {
  const auto made = [] {
    const auto counts = compiler::kernel_counts();
    return counts.compiled + counts.found;
  };
  auto compiled = compile([](const Tensor& x) { return (x * 0.789).sin().exp(); });
  const auto x = torch::randn({100}).set_requires_grad(true);
  const auto before = made();
  const auto y = compiled(x);
  const auto after_forward = made();
  EXPECT_EQ(after_forward, before + 1) << "the backward pass would be another kernel";
  y.backward(torch::ones({100}));
  const auto after_backward = made();
  EXPECT_EQ(after_backward, after_forward + 1);
  compiled(x).backward(torch::ones({100}));
  EXPECT_EQ(made(), after_backward);
}

/// A function whose kernels no other test compiles.
Tensor new_function(const Tensor& x, double number) { return (x * number).sin() + x.cos(); }

Options broken_compiler() {
  Options options;
  options.toolchain = ToolchainChoice::System;
  return options;
}

std::string failure_of(const std::string& compiler, double number) {
  Variable variable("ANTEGRAD_CC", compiler.c_str());
  auto compiled = compile([=](const Tensor& x) { return new_function(x, number); }, broken_compiler());
  try {
    compiled(torch::randn({100}));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Compile) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(CompileFailure, NamesACompilerThatDoesNotRun) {
  EXPECT_NE(failure_of("/bin/false", 0.123).find("/bin/false"), std::string::npos);
}

TEST(CompileFailure, HasSourceCommandAndDiagnostics) {
  const auto path = std::filesystem::temp_directory_path() / ("antegrad_cc_" + std::to_string(::getpid()));
  std::ofstream(path)
      << "#!/bin/sh\n[ \"$1\" = --version ] && echo cc 1.0 && exit 0\necho no room >&2\nexit 1\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const auto text = failure_of(path.string(), 0.234);
  std::filesystem::remove(path);
  EXPECT_NE(text.find(path.string() + " "), std::string::npos) << text;
  EXPECT_NE(text.find("no room"), std::string::npos) << text;
  EXPECT_NE(text.find("for (int64_t "), std::string::npos) << text;
  EXPECT_NE(text.find("0.234"), std::string::npos) << text;
}

TEST(CompileFailure, EagerRunsAndIsCounted) {
  Variable compiler("ANTEGRAD_CC", "/bin/false");
  auto options = broken_compiler();
  options.compile_failure = CompileFailure::Eager;
  auto compiled = compile([](const Tensor& x) { return new_function(x, 0.456); }, options);
  const auto x = torch::randn({100}, torch::requires_grad());
  const auto y = compiled(x);
  EXPECT_TRUE(at::allclose(y, new_function(x, 0.456)));
  EXPECT_EQ(compiled.report().compile_failures, 1U);
  ASSERT_EQ(compiled.report().compile_failure_reasons.size(), 1U);
  EXPECT_NE(compiled.report().compile_failure_reasons[0].find("/bin/false"), std::string::npos);
  y.sum().backward();
  EXPECT_TRUE(at::allclose(x.grad(), (x * 0.456).cos() * 0.456 - x.sin()));
  EXPECT_EQ(compiled.report().compile_failures, 2U);
  compiled(x);
  EXPECT_EQ(compiled.report().compile_failures, 2U);
}

TEST(Explain, HasGraphsDecisionsAndSources) {
  const auto x = torch::randn({64, 128}, torch::requires_grad());
  const auto w = torch::randn({128, 256}), b = torch::randn({256});
  const auto explanation = explain(network, x, w, b);
  EXPECT_NE(explanation.graph.find("aten.addmm"), std::string::npos);
  EXPECT_NE(explanation.graph.find("aten._softmax"), std::string::npos);
  EXPECT_NE(explanation.forward.find("forward"), std::string::npos);
  EXPECT_EQ(explanation.forward.find("aten._softmax"), std::string::npos) << explanation.forward;
  EXPECT_NE(explanation.backward.find("tangent"), std::string::npos);
  EXPECT_NE(explanation.decisions.find("aten.addmm"), std::string::npos) << explanation.decisions;
  EXPECT_NE(explanation.decisions.find("kernel"), std::string::npos) << explanation.decisions;
  ASSERT_GE(explanation.sources.size(), 2U);
  for (const auto& [name, source] : explanation.sources)
    EXPECT_NE(source.find("int64_t"), std::string::npos) << name;
  EXPECT_FALSE(explanation.toolchain.empty());
  EXPECT_EQ(explanation.isa, toolchain::isa_name(toolchain::detect_isa()));
}

TEST(Explain, RunsNothing) {
  int runs = 0;
  auto compiled = compile([&](Tensor x) {
    ++runs;
    return x.add_(1);
  });
  auto x = torch::zeros({4});
  EXPECT_NE(explain(compiled, x).graph.find("aten.add"), std::string::npos);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(at::equal(x, torch::zeros({4})));
  compiled(x);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(at::equal(x, torch::ones({4})));
}

TEST(Explain, OfTheEagerBackend) {
  Options options;
  options.backend = Backend::Eager;
  const auto explanation =
      compile(network, options).explain(torch::randn({2, 2}), torch::randn({2, 2}), torch::randn({2}));
  EXPECT_TRUE(explanation.sources.empty());
  EXPECT_TRUE(explanation.toolchain.empty());
  EXPECT_NE(explanation.forward.find("aten._softmax"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::test
