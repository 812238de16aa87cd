// Branches and loops of programs, which are regions of compiled ones: against the program run op by op, loops
// written out, and finite differences.
#include "cpu/programs/sample_programs.h"
#include "support/derivatives.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

/// Compares a program with its compiled form, values and derivatives, by arguments and parameters.
void expect_same_as_plain(const Program& program, const CompiledProgram& compiled,
                          std::vector<c10::IValue> arguments, const std::string& what) {
  auto leaves = program.parameters();
  for (auto& argument : arguments) {
    if (!argument.toTensor().is_floating_point()) continue;
    argument = argument.toTensor().detach().clone().requires_grad_();
    leaves.push_back(argument.toTensor());
  }
  const auto all = [&](const auto& call) {
    return derivatives([&] { return Tensors{call(arguments).toTensor()}; }, leaves, 2);
  };
  const auto expected = all([&](const auto& a) { return program(a); });
  expect_same_derivatives(expected, all([&](const auto& a) { return compiled.call(a); }), what);
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ProgramRegions, OneCaptureServesBothBranches) {
  manual_seed(1);
  const auto program = load_program(sample_path("cond"));
  const auto compiled = compile(program);
  for (const float shift : {1.F, -1.F, 0.5F, -2.F})
    expect_same_as_plain(program, compiled, {torch::rand({3, 4}) + shift, torch::rand({3, 4})},
                         c10::str("shift ", shift));
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_EQ(compiled.report().eager_calls, 0u);
  EXPECT_EQ(count_of(compiled.graph(), "antegrad.region.cond("), 1u) << compiled.graph();
}

TEST(ProgramRegions, OneCaptureServesAnyNumberOfTurns) {
  manual_seed(1);
  const auto program = load_program(sample_path("while_data"));
  const auto compiled = compile(program);
  for (const float scale : {0.1F, 1.F, 5.F, 100.F})
    expect_same_as_plain(program, compiled, {(torch::rand({4, 3}) + 0.5) * scale}, c10::str("scale ", scale));
  EXPECT_EQ(compiled.report().captures, 1u);
  EXPECT_EQ(compiled.report().eager_calls, 0u);
}

TEST(ProgramRegions, GradientsAreThoseOfTheLoopWrittenOut) {
  const auto program = load_program(sample_path("while_data"));
  const auto compiled = compile(program);
  const auto x = sample_inputs("while_data")[0].toTensor();
  const auto p = program.parameters()[0];
  const auto gradient = torch::autograd::grad({compiled(x).toTensor().sum()}, {p})[0];
  auto y = x;
  while ((y.abs().sum() < 100).item<bool>()) y = y * p * 1.5;
  const auto expected = torch::autograd::grad({y.sum()}, {p})[0];
  EXPECT_TRUE(torch::allclose(gradient, expected, 1e-5, 1e-4)) << gradient << expected;
  const torch::NoGradGuard guard;
  for (int64_t i = 0; i < p.numel(); ++i) {
    const auto at = [&](float step) {
      p[i].add_(step);
      const auto value = compiled(x).toTensor().sum().item<double>();
      p[i].sub_(step);
      return value;
    };
    const auto slope = (at(1e-2F) - at(-1e-2F)) / 2e-2;
    EXPECT_NEAR(gradient[i].item<double>(), slope, 2e-2 * std::abs(slope) + 1e-2) << i;
  }
}

TEST(ProgramRegions, ScansAndMapsOfAnyLength) {
  manual_seed(1);
  for (const std::string name : {"scan_any", "map_any"}) {
    const auto program = load_program(sample_path(name));
    const auto compiled = compile(program);
    for (const int64_t length : {4, 1, 3, 7, 12, 30})
      expect_same_as_plain(program, compiled, {torch::rand({length, 3})},
                           c10::str(name, ", length ", length));
    EXPECT_EQ(compiled.report().captures, 1u) << name;
    EXPECT_EQ(
        count_of(compiled.graph(), name == "scan_any" ? "antegrad.region.scan(" : "antegrad.region.map("), 1u)
        << compiled.graph();
    ASSERT_EQ(compiled.report().regions.size(), 1u) << name;
    EXPECT_NE(compiled.report().regions[0].find(": a region"), std::string::npos);
  }
}

TEST(ProgramRegions, LongLoopsAreWrittenOutAtTheirBeginningOnly) {
  const auto program = load_program(sample_path("while_twenty"));
  const auto compiled = compile(program);
  expect_same_as_plain(program, compiled, {torch::rand({4, 3})}, "twenty turns");
  EXPECT_EQ(count_of(compiled.graph(), "antegrad.region.while_loop("), 1u) << compiled.graph();
  const auto x = torch::rand({4, 3});
  EXPECT_TRUE(torch::allclose(compiled(x).toTensor(), x * program.parameters()[0].pow(20), 1e-4, 1e-4));
}

TEST(ProgramRegions, ReportsSayWhatBecameOfThem) {
  const auto said = [](const std::string& name) {
    const auto compiled = compile(load_program(sample_path(name)));
    const auto explanation = compiled.explain(sample_inputs(name));
    const auto regions = compiled.report().regions;
    EXPECT_EQ(regions.size(), 1u) << name;
    if (regions.size() != 1) return std::string();
    EXPECT_EQ(explanation.decisions.find(regions[0] + "\n"), 0u) << explanation.decisions;
    return regions[0];
  };
  EXPECT_EQ(said("cond").find("cond at node cond (File \"exp1.py\", line 62, in forward"), 0u)
      << said("cond");
  EXPECT_NE(said("cond").find("): a region"), std::string::npos) << said("cond");
  EXPECT_EQ(said("while_data").find("while_loop at node "), 0u) << said("while_data");
  EXPECT_NE(said("while_data").find(": a region"), std::string::npos) << said("while_data");
  EXPECT_NE(said("while_fixed").find(": written out, 3 turns"), std::string::npos) << said("while_fixed");
  EXPECT_NE(said("scan").find(": written out, 4 turns"), std::string::npos) << said("scan");
  EXPECT_NE(said("map").find(": written out, 4 turns"), std::string::npos) << said("map");
}

TEST(ProgramRegions, BreaksAndUncompiledRunsStayAsTheyWere) {
  for (const std::string name : {"cond", "while_data"}) {
    const auto program = load_program(sample_path(name));
    Options options;
    options.unsupported = Unsupported::Break;
    const auto compiled = compile(program, options);
    for (int k = 0; k < 3; ++k) expect_same_as_plain(program, compiled, sample_inputs(name), name);
    EXPECT_GT(compiled.report().broken_calls, 0u) << name;
    EXPECT_TRUE(compiled.report().regions.empty()) << name;
  }
}

}  // namespace
}  // namespace antegrad::test
