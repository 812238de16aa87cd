// C++ functions as .pt2 files: read back here, and by Python where it has torch.
#include <antegrad/antegrad.h>
#include <antegrad/program.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <fstream>

#include "support/seeds.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

std::string file_of(const std::string& name) { return test::temporary_path(name + ".pt2"); }

std::vector<at::Tensor> tensors_of(const c10::IValue& result) {
  Leaves leaves;
  flatten(result, leaves);
  return {leaves.tensors.begin(), leaves.tensors.end()};
}

void expect_equal(const std::vector<at::Tensor>& expected, const std::vector<at::Tensor>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].sizes(), found[i].sizes()) << i;
    EXPECT_EQ(expected[i].scalar_type(), found[i].scalar_type()) << i;
    EXPECT_TRUE(torch::allclose(expected[i].detach(), found[i].detach(), 1e-5, 1e-6)) << i;
  }
}

std::map<std::string, at::Tensor> by_name(const NamedTensors& tensors) {
  return {tensors.begin(), tensors.end()};
}

/// A module with parameters, buffers that it writes to, and random numbers.
struct NetImpl : torch::nn::Module {
  NetImpl() {
    first = register_module("first", torch::nn::Linear(6, 8));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    drop = register_module("drop", torch::nn::Dropout(0.25));
    head = register_module("head", torch::nn::Linear(8, 3));
    scale = register_parameter("scale", torch::full({3}, 0.5), false);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::log_softmax(head(drop(torch::gelu(norm(first(x))))) * scale, 1);
  }
  torch::nn::Linear first{nullptr}, head{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::Tensor scale;
};
TORCH_MODULE(Net);

class SaveProgram : public ::testing::Test {
 protected:
  void SetUp() override { test::manual_seed(1); }
};

TEST_F(SaveProgram, OfAModuleHasItsStateByNameAndItsGradients) {
  Net net;
  const auto x = torch::randn({5, 6});
  const auto before = net->norm->running_mean.clone();
  save_program(compile(net), file_of("net"), x);
  EXPECT_TRUE(torch::equal(net->norm->running_mean, before));  // nothing was run on the user's tensors
  const auto program = load_program(file_of("net"));
  EXPECT_TRUE(program.warnings().empty());
  const auto named = by_name(program.named_parameters());
  ASSERT_EQ(named.size(), 7U);
  EXPECT_FALSE(named.at("scale").requires_grad());
  EXPECT_TRUE(torch::equal(named.at("first.weight"), net->first->weight));
  test::manual_seed(3);
  const auto expected = net(x);
  expected.exp().sum(0).pow(2).sum().backward();
  test::manual_seed(3);
  const auto found = program({x}).toTensor();
  expect_equal({expected}, {found});
  found.exp().sum(0).pow(2).sum().backward();
  for (const auto& parameter : net->named_parameters()) {
    if (!parameter.value().requires_grad()) continue;
    EXPECT_TRUE(torch::allclose(parameter.value().grad(), named.at(parameter.key()).grad(), 1e-4, 1e-6))
        << parameter.key();
  }
  const auto buffers = by_name(program.named_buffers());
  for (const auto& buffer : net->named_buffers())
    EXPECT_TRUE(torch::allclose(buffer.value(), buffers.at(buffer.key()), 1e-5, 1e-6)) << buffer.key();
}

TEST_F(SaveProgram, KeepsSeveralResultsConstantsAndCapturedTensors) {
  const auto weight = torch::randn({4, 4}).requires_grad_();
  const auto table = torch::arange(4).to(torch::kFloat);
  const auto function = compile([=](const at::Tensor& x, const std::vector<at::Tensor>& more, double factor) {
    const auto mask = torch::tensor({1.0F, 0.0F, 2.0F, -1.0F});
    const auto parts = torch::chunk(x.mm(weight) * mask + table, 2, 1);
    return std::make_tuple(parts[0] * factor + more[0], torch::cat({parts[1], more[1]}, 1), x.argmax(1));
  });
  const auto x = torch::randn({3, 4}), a = torch::randn({3, 2}), b = torch::randn({3, 1});
  save_program(function, file_of("tuple"), x, std::vector<at::Tensor>{a, b}, 1.5);
  const auto program = load_program(file_of("tuple"));
  ASSERT_EQ(program.inputs().size(), 3U);
  ASSERT_EQ(program.named_parameters().size(), 1U);
  EXPECT_EQ(program.named_parameters()[0].first.rfind("lifted", 0), 0U);
  EXPECT_EQ(program.named_buffers().size(), 1U);
  const auto y = torch::randn({3, 4});
  const auto [p, q, r] = function(y, std::vector<at::Tensor>{b.expand({3, 2}).contiguous(), b}, 1.5);
  expect_equal({p, q, r}, tensors_of(program({y, b.expand({3, 2}).contiguous(), b})));
}

TEST_F(SaveProgram, WritesToArgumentsAreInTheSignature) {
  const auto total = torch::zeros({3});
  const auto function = compile([=](const at::Tensor& x, const at::Tensor& out) {
    const torch::NoGradGuard no_grad;
    out.mul_(2).add_(x);
    total.add_(out);
    return out.clone();
  });
  const auto x = torch::randn({3}), out = torch::ones({3});
  save_program(function, file_of("writes"), x, out);
  EXPECT_TRUE(torch::equal(out, torch::ones({3})));
  const auto program = load_program(file_of("writes"));
  for (int call = 0; call < 2; ++call) {
    const auto mine = torch::ones({3}), theirs = torch::ones({3});
    expect_equal({function(x, mine)}, tensors_of(program({x, theirs})));
    EXPECT_TRUE(torch::equal(mine, theirs));
    EXPECT_TRUE(torch::equal(total, program.named_buffers().at(0).second));
  }
}

/// Saves, loads and compares results and gradients of all parameters.
template <class M>
void expect_saved_like(M module, const std::string& name, const at::Tensor& x) {
  auto first = [module](const at::Tensor& input) mutable {
    const auto result = module->forward(input);
    if constexpr (std::is_same_v<std::decay_t<decltype(result)>, at::Tensor>)
      return result;
    else
      return std::get<0>(result);
  };
  Options options;
  options.watch = {module};
  save_program(compile(first, options), file_of(name), x);
  const auto program = load_program(file_of(name));
  const auto expected = first(x), found = program({x}).toTensor();
  expect_equal({expected}, {found});
  std::vector<at::Tensor> here, there;
  const auto named = by_name(program.named_parameters());
  for (const auto& parameter : module->named_parameters()) {
    here.push_back(parameter.value());
    there.push_back(named.at(parameter.key()));
  }
  ASSERT_FALSE(here.empty());
  expect_equal(torch::autograd::grad({expected.sin().mean()}, here),
               torch::autograd::grad({found.sin().mean()}, there));
}

TEST_F(SaveProgram, OfModulesOfManyKinds) {
  namespace nn = torch::nn;
  expect_saved_like(
      nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1).stride(2)), nn::BatchNorm2d(4),
                     nn::ReLU(nn::ReLUOptions(true)), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(16, 2)),
      "conv", torch::randn({2, 3, 8, 8}));
  expect_saved_like(nn::Sequential(nn::Embedding(10, 6), nn::LayerNorm(nn::LayerNormOptions({6})),
                                   nn::Linear(6, 4), nn::Softmax(2)),
                    "embedding", torch::randint(0, 10, {3, 5}));
  expect_saved_like(nn::GRU(nn::GRUOptions(3, 4).num_layers(2)), "gru", torch::randn({5, 2, 3}));
  expect_saved_like(
      nn::Sequential(nn::ConvTranspose1d(nn::ConvTranspose1dOptions(2, 3, 4).stride(2)),
                     nn::GroupNorm(nn::GroupNormOptions(3, 3)), nn::SELU(),
                     nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2.0}))),
      "transposed", torch::randn({2, 2, 5}));
  expect_saved_like(
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0)),
      "transformer", torch::randn({4, 2, 8}));
}

TEST_F(SaveProgram, DynamicSizesAreSymbolsWithRanges) {
  torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(8, 2));
  Options options;
  options.watch = {attention};
  options.dynamic_sizes = {dynamic(0, 0, 2, 64).named("time"), dynamic(0, 1, 1, 32).named("batch")};
  const auto function = compile(
      [=](const at::Tensor& x) mutable {
        const auto y = std::get<0>(attention(x, x, x));
        return torch::cat({y, x}, 0).reshape({-1, 8}).mean(1) / std::sqrt(double(x.size(0)));
      },
      options);
  save_program(function, file_of("dynamic"), torch::randn({5, 3, 8}));
  const auto program = load_program(file_of("dynamic"));
  ASSERT_EQ(program.dynamic_sizes().size(), 2U);
  EXPECT_EQ(program.dynamic_sizes()[0].max, 64);
  for (const auto& [time, batch] : {std::pair{5, 3}, std::pair{7, 2}, std::pair{4, 4}, std::pair{2, 9}}) {
    const auto x = torch::randn({time, batch, 8});
    expect_equal({function(x)}, tensors_of(program({x})));
  }
  EXPECT_THROW(program({torch::randn({65, 3, 8})}), Error);
}

TEST_F(SaveProgram, SizesThatDecideTheOpsAreRefusedAsSymbols) {
  Options options;
  options.dynamic_sizes = {dynamic(0, 0)};
  const auto function =
      compile([](const at::Tensor& x) { return x.size(0) % 3 == 0 ? x.exp() : x.sin(); }, options);
  try {
    save_program(function, file_of("refused"), torch::randn({4}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find("symbol"), std::string::npos) << error.what();
  }
}

TEST_F(SaveProgram, WithPartsThatHaveNoGradientIsRefusedUnlessItIsForInference) {
  const auto weight = torch::randn({3}).requires_grad_();
  const auto function =
      compile([=](const at::Tensor& x) { return (x * weight).detach() * weight + (x * weight).exp(); });
  const auto x = torch::randn({3});
  try {
    save_program(function, file_of("detached"), x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnsupportedOp);
    EXPECT_NE(std::string(error.what()).find("grad:lifted0"), std::string::npos) << error.what();
  }
  const torch::NoGradGuard no_grad;
  save_program(function, file_of("detached"), x);
  const auto program = load_program(file_of("detached"));
  EXPECT_FALSE(program.parameters().at(0).requires_grad());
  expect_equal({function(x)}, tensors_of(program({x})));
}

TEST_F(SaveProgram, KeepsTheStateOfTheGenerators) {
  const auto function = compile([](const at::Tensor& x) { return x * torch::rand_like(x); });
  const auto x = torch::randn({4});
  test::manual_seed(5);
  const auto expected = torch::rand({3});
  test::manual_seed(5);
  save_program(function, file_of("random"), x);
  EXPECT_TRUE(torch::equal(torch::rand({3}), expected));
}

constexpr const char* kScript = R"(
import sys, torch
for path in sys.argv[1:]:
    program = torch.export.load(path)
    arguments, keywords = program.example_inputs
    module = program.module()
    torch.manual_seed(3)
    results = module(*arguments, **keywords)
    results = results if isinstance(results, tuple) else (results,)
    loss = sum((r.float() ** 2).sum() for r in results if r.requires_grad)
    if isinstance(loss, torch.Tensor): loss.backward()
    out = {f"result{i}": r.detach() for i, r in enumerate(results)}
    out.update({"grad." + n: p.grad for n, p in module.named_parameters() if p.grad is not None})
    out.update({"state." + n: t for n, t in module.state_dict().items()})
    torch.save(out, path + ".out")
)";

/// The first of $ANTEGRAD_TEST_PYTHON and python3 that has torch 2.11; empty if none has.
std::string python_with_torch() {
  const char* given = std::getenv("ANTEGRAD_TEST_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  const auto command =
      python + " -c 'import torch; assert torch.__version__.startswith(\"2.11\")' 2>/dev/null";
  return std::system(command.c_str()) == 0 ? python : std::string();
}

using Arguments = std::vector<c10::IValue>;

/// What kScript writes, computed here.
std::map<std::string, at::Tensor> results_here(const Program& program, const Arguments& arguments) {
  torch::manual_seed(3);
  std::map<std::string, at::Tensor> out;
  at::Tensor loss = torch::zeros({});
  for (const auto& result : tensors_of(program(arguments))) {
    out["result" + std::to_string(out.size())] = result.detach();
    if (result.requires_grad()) loss = loss + result.pow(2).sum();
  }
  loss.backward();
  for (const auto& [name, tensor] : program.named_parameters()) {
    if (tensor.grad().defined()) out["grad." + name] = tensor.grad();
    out["state." + name] = tensor.detach();
  }
  for (const auto& [name, tensor] : program.named_buffers()) out["state." + name] = tensor;
  return out;
}

TEST_F(SaveProgram, IsReadByPythonWithEqualResultsGradientsAndState) {
  const auto python = python_with_torch();
  if (python.empty()) GTEST_SKIP() << "missing: torch 2.11 in Python (ANTEGRAD_TEST_PYTHON)";
  std::map<std::string, Arguments> calls;
  Options options;
  options.dynamic_sizes = {dynamic(0, 0, 2, 64).named("n"), dynamic(1, 0, 2, 64).named("n")};
  const auto x = torch::randn({5, 6});
  save_program(compile(Net(),
                       [] {
                         Options sized;
                         sized.dynamic_sizes = {dynamic(0, 0, 2, 64)};
                         return sized;
                       }()),
               file_of("python_net"), x);
  calls[file_of("python_net")] = {x};
  const auto weight = torch::randn({4, 4}).requires_grad_();
  const auto function = [=](const at::Tensor& a, const at::Tensor& b) {
    const auto parts = torch::chunk(a.mm(weight) * torch::tensor({1.0F, 0.5F, 2.0F, 4.0F}), 2, 1);
    b.add_(1);
    return std::make_tuple(parts[0] / std::sqrt(double(a.size(0))), torch::cat({parts[1], b}, 1).flatten());
  };
  const auto a = torch::randn({6, 4}), b = torch::randn({6, 2});
  save_program(compile(function, options), file_of("python_tuple"), a, b);
  calls[file_of("python_tuple")] = {a, b};
  const auto script = test::temporary_path("read_programs.py");
  std::ofstream(script) << kScript;
  auto command = python + " " + script;
  for (const auto& [file, arguments] : calls) command += " " + file;
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (const auto& [file, arguments] : calls) {
    std::ifstream stream(file + ".out", std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), {});
    const auto there = torch::pickle_load(bytes).toGenericDict();
    const auto here = results_here(load_program(file), arguments);
    EXPECT_EQ(here.size(), there.size()) << file;
    for (const auto& [name, tensor] : here)
      EXPECT_TRUE(torch::allclose(tensor, there.at(name).toTensor(), 1e-5, 1e-6)) << file << " " << name;
  }
}

}  // namespace
}  // namespace antegrad::test
