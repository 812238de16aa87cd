// Programs of torch.export: tests/data/pt2, exported by Python, with Python's losses, gradients and buffers.
#include <antegrad/antegrad.h>
#include <antegrad/program.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "cpu/programs/sample_programs.h"
#include "support/temporary.h"

namespace antegrad::test {
namespace {

using Call = std::function<c10::IValue(const std::vector<c10::IValue>&)>;

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 + 2e-6 * std::abs(b); }

void expect_pythons_results(const std::string& name, const Program& program, const Call& call) {
  static const auto& all = *new auto(expected_results());
  const auto& expected = all.at(name);
  torch::manual_seed(0);  // Python's
  const auto loss = loss_of(call(sample_inputs(name)));
  ASSERT_TRUE(loss.defined()) << name;
  EXPECT_TRUE(near(loss.item<double>(), expected.loss))
      << name << ": " << loss.item<double>() << " " << expected.loss;
  loss.backward();
  EXPECT_FALSE(expected.gradients.empty()) << name;
  for (const auto& [parameter, tensor] : program.named_parameters()) {
    if (!tensor.requires_grad()) continue;
    const auto sum = tensor.grad().to(torch::kDouble).pow(2).sum().item<double>();
    EXPECT_TRUE(near(sum, expected.gradients.at(parameter))) << name << " " << parameter << ": " << sum;
  }
  for (const auto& [buffer, tensor] : program.named_buffers()) {
    const auto sum = tensor.to(torch::kDouble).sum().item<double>();
    EXPECT_TRUE(near(sum, expected.buffers.at(buffer))) << name << " " << buffer << ": " << sum;
  }
}

const std::vector<std::string> kCaptured = {
    "mlp",          "mlp_decomp",  "gpt",  "map",        "mutation", "nograd",  "autocast",       "conv",
    "autogradgrad", "while_fixed", "scan", "checkpoint", "views",    "buffers", "buffers_decomp", "region",
    "cond",         "while_data"};
const std::vector<std::string> kReadData = {"item"};

TEST(Programs, RunAsInPython) {
  for (const auto* names : {&kCaptured, &kReadData})
    for (const auto& name : *names) {
      const auto program = load_program(sample_path(name));
      expect_pythons_results(name, program, [&](const auto& inputs) { return program(inputs); });
    }
}

TEST(Programs, CompiledAsInPython) {
  for (const auto& name : kCaptured) {
    const auto program = load_program(sample_path(name));
    Options options;
    options.rng = Rng::Eager;
    const auto compiled = compile(program, options);
    expect_pythons_results(name, program, [&](const auto& inputs) { return compiled.call(inputs); });
    EXPECT_EQ(compiled.report().captures, 1U) << name;
    EXPECT_EQ(compiled.report().eager_calls, 0U) << name;
  }
}

TEST(Programs, WhoseCourseDependsOnDataRunUncompiledAndAreReported) {
  for (const auto& name : kReadData) {
    const auto program = load_program(sample_path(name));
    Options options;
    options.unsupported = Unsupported::Eager;
    const auto compiled = compile(program, options);
    expect_pythons_results(name, program, [&](const auto& inputs) { return compiled.call(inputs); });
    EXPECT_EQ(compiled.report().eager_calls, 1U) << name;
    ASSERT_EQ(compiled.report().eager_reasons.size(), 1U) << name;
    EXPECT_NE(compiled.report().eager_reasons[0].find(" at node "), std::string::npos);
  }
}

TEST(Programs, OfAllSamplesArePrinted) {
  for (const char* name : {"dynauto", "guards2", "intdyn", "kw", "even", "gpt", "cond"}) {
    const auto text = load_program(sample_path(name)).text();
    EXPECT_EQ(text.rfind("program model of PyTorch 2.11", 0), 0U) << text;
    EXPECT_NE(text.find("\nreturn "), std::string::npos) << text;
  }
}

TEST(Programs, DynamicSizesNeedNoCaptureEach) {
  const auto program = load_program(sample_path("gpt"));
  ASSERT_EQ(program.dynamic_sizes().size(), 4U);
  EXPECT_EQ(program.dynamic_sizes()[0].max, 512);
  EXPECT_EQ(program.dynamic_sizes()[0].name, program.dynamic_sizes()[2].name);
  const auto compiled = compile(program);
  for (const auto& [batch, time] : {std::pair{4, 8}, std::pair{3, 5}, std::pair{7, 9}}) {
    const auto ids = torch::randint(0, 32, {batch, time}), targets = torch::randint(0, 32, {batch, time});
    const auto loss = compiled(ids, targets).toTensor();
    const auto plain = program({ids, targets}).toTensor();
    EXPECT_TRUE(torch::allclose(loss, plain, 1e-5, 1e-6));
    const auto parameters = program.parameters();
    const auto a = torch::autograd::grad({loss}, parameters), b = torch::autograd::grad({plain}, parameters);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::allclose(a[i], b[i], 1e-4, 1e-6)) << i;
  }
  // The first version, made at length 8, has the guard "size 1 == 8*s1", so that other lengths take a second
  // one.
  EXPECT_LE(compiled.report().captures, 2U);
}

TEST(Programs, HaveSecondDerivatives) {
  const auto program = load_program(sample_path("checkpoint"));
  const auto compiled = compile(program);
  const auto x = sample_inputs("checkpoint");
  const auto second = [&](const at::Tensor& result) {
    const auto p = program.parameters();
    const auto first = torch::autograd::grad({result.sum()}, p, {}, true, true);
    return torch::autograd::grad({first[0].pow(2).sum()}, p)[0];
  };
  EXPECT_TRUE(
      torch::allclose(second(compiled.call(x).toTensor()), second(program(x).toTensor()), 1e-4, 1e-5));
}

// x * p^3: PyTorch's own gradient of while_loop is wrong, so finite differences decide.
TEST(Programs, LoopsHaveTheGradientsOfFiniteDifferences) {
  for (const char* name : {"while_fixed", "scan", "while_data"}) {
    const auto program = load_program(sample_path(name));
    const auto inputs = sample_inputs(name);
    Options options;
    options.unsupported = Unsupported::Eager;
    const auto compiled = compile(program, options);
    const auto p = program.parameters()[0];
    const auto gradient = torch::autograd::grad({compiled.call(inputs).toTensor().sum()}, {p})[0];
    const torch::NoGradGuard no_grad;
    for (int64_t i = 0; i < p.numel(); ++i) {
      const float h = 1e-2F;
      const auto at = [&](float step) {
        p[i].add_(step);
        const auto value = program(inputs).toTensor().sum().item<double>();
        p[i].sub_(step);
        return value;
      };
      const auto slope = (at(h) - at(-h)) / (2 * h);
      EXPECT_NEAR(gradient[i].item<double>(), slope, 2e-2 * std::abs(slope) + 1e-2) << name << " " << i;
    }
  }
}

TEST(Programs, TrainedParametersStayTied) {
  const auto program = load_program(sample_path("mlp"));
  std::map<std::string, at::Tensor> named;
  for (const auto& [name, tensor] : program.named_parameters()) named[name] = tensor;
  EXPECT_TRUE(named.at("tied").is_same(named.at("l2.weight")));
  EXPECT_EQ(program.parameters().size(), named.size() - 1);
  const auto compiled = compile(program);
  torch::optim::SGD optimizer(program.parameters(), 1e-3);
  const auto inputs = sample_inputs("mlp");
  double first = 0, last = 0;
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    const auto loss = compiled.call(inputs).toGenericDict().at("y").toTensor().pow(2).mean();
    (step == 0 ? first : last) = loss.item<double>();
    loss.backward();
    optimizer.step();
  }
  EXPECT_LT(last, first);
  EXPECT_EQ(compiled.report().captures, 1U);
  EXPECT_EQ(program.named_buffers()[0].second.item<int64_t>(), 5);  // bn.num_batches_tracked
}

TEST(Programs, ViewsOfOneStorageStayViews) {
  const auto program = load_program(sample_path("views"));
  std::map<std::string, at::Tensor> named;
  for (const auto& [name, tensor] : program.named_parameters()) named[name] = tensor;
  EXPECT_TRUE(named.at("low").is_alias_of(named.at("high")));
  EXPECT_FALSE(named.at("frozen").requires_grad());
  EXPECT_EQ(program.named_buffers().at(0).second.stride(0), 1);
}

TEST(Programs, TakeStructuredArgumentsOrTheirLeaves) {
  const auto program = load_program(sample_path("kw"));
  ASSERT_EQ(program.inputs().size(), 5U);
  EXPECT_EQ(program.inputs()[3].name, "lst[0]");
  EXPECT_EQ(program.inputs()[3].type, "f32[4, 3]");
  const auto a = torch::randn({4, 3}), b = torch::randn({4, 3}), c = torch::randn({4, 3});
  const c10::List<at::Tensor> list({b, c});
  const auto compiled = compile(program);
  const auto structured = compiled.call({a}, {{"lst", list}, {"scale", 3.0}, {"flag", true}});
  for (const auto& result : {structured, compiled.call({a}, {{"lst", list}}), compiled(a, b, c)}) {
    ASSERT_EQ(result.toTupleRef().elements().size(), 2U);
    EXPECT_TRUE(torch::equal(result.toTupleRef().elements()[1].toListRef()[1].toTensor(), c + 1));
  }
  ASSERT_EQ(program.warnings().size(), 1U);  // exported with one tensor for two arguments
  EXPECT_NE(program.warnings()[0].find("`a_0`"), std::string::npos) << program.warnings()[0];
}

TEST(Programs, TakeNumbers) {
  const auto program = load_program(sample_path("intdyn"));
  const auto compiled = compile(program);
  const auto x = torch::randn({6, 3});
  for (const int64_t n : {5, 2}) {
    const auto result = compiled(x, n);
    EXPECT_TRUE(torch::equal(result.toTupleRef().elements()[0].toTensor(), x * n));
    EXPECT_EQ(result.toTupleRef().elements()[1].toInt(), 6 + n);
  }
}

TEST(Programs, NumbersThatOnlyScaleAreSymbols) {
  const auto program = load_program(sample_path("intdyn"));
  const auto compiled = compile(program);
  const auto x = torch::randn({6, 3});
  for (const int64_t n : {5, 2, 7, 9, 30, 4}) {
    const auto result = compiled(x, n);
    EXPECT_TRUE(torch::equal(result.toTupleRef().elements()[0].toTensor(), x * n)) << n;
    EXPECT_EQ(result.toTupleRef().elements()[1].toInt(), 6 + n);
  }
  EXPECT_LE(compiled.report().captures, 2U);
}

TEST(Programs, GiveAnExampleOfTheirArguments) {
  for (const char* name : {"gpt", "intdyn", "conv", "kw"}) {
    const auto program = load_program(sample_path(name));
    EXPECT_EQ(program.example().empty(), false) << name;
    EXPECT_NO_THROW(program(program.example())) << name;
  }
  EXPECT_EQ(load_program(sample_path("gpt")).example()[0].toTensor().sizes(), at::IntArrayRef({4, 8}));
  EXPECT_EQ(load_program(sample_path("intdyn")).example()[1].toInt(), 5);
}

// Even if everything is to be saved, values of the region are recomputed by the backward pass.
TEST(Programs, CheckpointRegionsAreRecomputed) {
  for (const char* name : {"region", "checkpoint"}) {  // torch.export has inlined the region of the second
    const auto program = load_program(sample_path(name));
    Options options;
    options.policy = SaveAll{};
    const auto compiled = compile(program, options);
    expect_pythons_results(name, program, [&](const auto& inputs) { return compiled.call(inputs); });
    const auto backward = compiled.explain(sample_inputs(name)).backward;
    const bool region = name == std::string("region");
    EXPECT_EQ(program.text().find("activation_checkpoint") != std::string::npos, region) << program.text();
    EXPECT_EQ(backward.find("= aten.exp(") != backward.npos, region) << backward;
    EXPECT_EQ(backward.find("torch.utils.checkpoint") != backward.npos, region) << backward;
  }
}

TEST(Programs, ForTrainingAndEvaluationShareTheirState) {
  auto train = load_program(sample_path("pair"), {.model = "train"});
  auto eval = load_program(sample_path("pair"), {.model = "eval"});
  const auto compiled = compile(eval);
  const auto x = torch::randn({6, 3});
  const auto before = compiled(x).toTensor();
  eval.share_state(train);
  const auto trained = compile(train);
  trained(x).toTensor().sum().backward();
  torch::optim::SGD(train.parameters(), 0.5).step();
  const auto after = compiled(x).toTensor();
  EXPECT_FALSE(torch::allclose(before, after));
  EXPECT_TRUE(torch::allclose(after, eval({x}).toTensor(), 1e-5, 1e-6));
  for (size_t i = 0; i < eval.named_buffers().size(); ++i)
    EXPECT_TRUE(eval.named_buffers()[i].second.is_same(train.named_buffers()[i].second));
}

class ProgramFiles : public ::testing::Test {
 protected:
  static std::string temporary(const std::string& name) { return test::temporary_path(name); }
  static void change(const Program& program) {
    const torch::NoGradGuard no_grad;
    for (const auto& parameter : program.parameters()) parameter.add_(torch::randn_like(parameter));
  }
  static void expect_same_parameters(const Program& a, const Program& b) {
    const auto x = a.named_parameters(), y = b.named_parameters();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(torch::equal(x[i].second, y[i].second)) << x[i].first;
  }
};

TEST_F(ProgramFiles, HaveTheTrainedState) {
  for (const char* name : {"mlp", "views", "gpt"}) {
    const auto program = load_program(sample_path(name));
    change(program);
    program.save(temporary("saved.pt2"));
    const auto again = load_program(temporary("saved.pt2"));
    expect_same_parameters(program, again);
    EXPECT_EQ(program.parameters().size(), again.parameters().size());
    EXPECT_EQ(program.text(), again.text());
  }
}

TEST_F(ProgramFiles, OfStateAloneAreReadByName) {
  for (const char* file : {"state.safetensors", "state.pt"}) {
    const auto program = load_program(sample_path("mlp")), other = load_program(sample_path("mlp"));
    change(program);
    program.save_state(temporary(file));
    other.load_state(temporary(file));
    expect_same_parameters(program, other);
    EXPECT_THROW(load_program(sample_path("conv")).load_state(temporary(file)), Error);
  }
}

}  // namespace
}  // namespace antegrad::test
