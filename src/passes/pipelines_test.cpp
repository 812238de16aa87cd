#include "passes/pipelines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "antegrad/error.h"
#include "graph/golden.h"
#include "ir/text.h"

namespace antegrad::passes {
namespace {

std::vector<std::string_view> names_of(const std::vector<Pass>& passes) {
  std::vector<std::string_view> names;
  for (const auto& pass : passes) names.push_back(pass.name);
  return names;
}

std::string doc(const char* name) {
  return read_text(std::filesystem::path(ANTEGRAD_SOURCE_DIR) / "docs" / name);
}

/// Returns the error text for a name that does not exist.
template <class Find>
std::string error_of(Find find) {
  try {
    find();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::UnknownPass);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

constexpr const char* kTwoTangents = R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.mul.Tensor(%1, %0) backward for 1
  %4: f32[3] = aten.exp(%2) backward for 2
  %5: f32[3] = aten.add.Tensor(%3, %4) backward for 3
  out %5 grad 0
  out %4 grad 1
}
)";

std::string case_of(const BackwardNeeds& needs, std::vector<bool> changed) {
  auto graph = ir::parse(kTwoTangents);
  const auto records =
      run_pipeline(graph, passes_of("backward_case", needs), {.disabled = {}, .verify = true});
  std::vector<bool> found;
  for (const auto& record : records) found.push_back(record.changed);
  EXPECT_EQ(found, changed);
  return ir::print(graph);
}

TEST(Pipelines, HaveAllTheirPasses) {
  for (const auto& pipeline : all_pipelines()) {
    EXPECT_EQ(&find_pipeline(pipeline.name), &pipeline);
    EXPECT_FALSE(pipeline.summary.empty());
    EXPECT_EQ(names_of(passes_of(pipeline.name)), pipeline.passes);
    for (const auto& pass : passes_of(pipeline.name)) EXPECT_FALSE(pass.summary.empty()) << pass.name;
  }
}

TEST(Pipelines, EveryPassIsInOne) {
  for (const auto& pass : all_passes()) {
    const auto runs = [&](const Pipeline& pipeline) {
      return std::ranges::find(pipeline.passes, pass.name) != pipeline.passes.end();
    };
    EXPECT_TRUE(std::ranges::any_of(all_pipelines(), runs)) << pass.name;
  }
}

TEST(Pipelines, UnknownNamesAreErrors) {
  EXPECT_EQ(
      error_of([] { find_pipeline("default"); }),
      "[passes] there is no pipeline named \"default\". The pipelines are functional, frozen, before_fusion, "
      "backward_case, kept_tensors.");
}

TEST(Pipelines, FunctionalRunsWhatTheGraphNeeds) {
  const auto all = find_pipeline("functional").passes;
  EXPECT_EQ(names_of(functional_passes({})), all);
  const auto without = [&](FunctionalNeeds needs, std::string_view pass) {
    auto expected = all;
    EXPECT_EQ(std::erase(expected, pass), 1U);
    EXPECT_EQ(names_of(functional_passes(needs)), expected);
  };
  without({.fused_rng = false}, "functional_rng");
  without({.effects = false}, "keep_errors");
  without({.lazy_bits = true}, "remove_noop");
}

TEST(Pipelines, BackwardCaseOfEverythingChangesNothing) {
  EXPECT_EQ(case_of(all_of(ir::parse(kTwoTangents)), {false, false, false}), kTwoTangents);
}

TEST(Pipelines, BackwardCaseDropsWhatIsUndefinedOrUnwanted) {
  auto needs = all_of(ir::parse(kTwoTangents));
  needs.wanted = {false, true};
  EXPECT_EQ(case_of(needs, {true, false, true}), R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.exp(%2) backward for 2
  out none grad 0
  out %3 grad 1
}
)");
  needs = all_of(ir::parse(kTwoTangents));
  needs.defined = {true, false};
  needs.reached = {true, false};
  EXPECT_EQ(case_of(needs, {false, true, false}), R"(graph @b backward {
  in %0: f32[3] saved
  in %1: f32[3] tangent
  in %2: f32[3] tangent
  %3: f32[3] = aten.mul.Tensor(%1, %0) backward for 1
  out %3 grad 0
  out none grad 1
}
)");
}

TEST(Pipelines, DocsListWhatThereIs) {
  EXPECT_NE(doc("errors.md").find(error_of([] { find_pass("dead_cod"); })), std::string::npos);
  EXPECT_NE(doc("errors.md").find(error_of([] { find_pipeline("default"); })), std::string::npos);
  for (const auto& pipeline : all_pipelines()) {
    std::string passes;
    for (auto pass : pipeline.passes) passes += (passes.empty() ? "" : " → ") + std::string(pass);
    auto line = "    " + std::string(pipeline.name);
    line.resize(std::string("    before_fusion  ").size(), ' ');
    EXPECT_NE(doc("passes.md").find("\n" + line + passes + "\n"), std::string::npos) << line << passes;
  }
  for (const auto& pass : all_passes())
    EXPECT_NE(doc("passes.md").find("\n## " + std::string(pass.name) + "\n"), std::string::npos) << pass.name;
}

}  // namespace
}  // namespace antegrad::passes
