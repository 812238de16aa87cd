#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "antegrad/error.h"
#include "ir/text.h"
#include "passes/pipelines.h"

namespace antegrad::passes {
namespace {

constexpr auto* kText = R"(graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] &%0 = aten.alias(%0)
  %2: f32[4] = aten.exp(%1)
  %3: f32[4] = aten.exp(%0)
  %4: f32[4] = aten.add.Tensor(%2, %3)
  %5: f32[4] = aten.sin(%4)
  out %4 user
}
)";

constexpr auto* kOptimised = R"(graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] = aten.exp(%0)
  %2: f32[4] = aten.add.Tensor(%1, %1)
  out %2 user
}
)";

constexpr FunctionalNeeds kPlain{.fused_rng = false, .effects = false, .lazy_bits = false};

/// Returns the text of the Error that the call throws, and checks its code.
template <class Fn>
std::string error_of(ErrorCode code, Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    EXPECT_EQ(error_code_name(error.code()), error_code_name(code));
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Pipeline, RunsInOrderAndRecords) {
  auto graph = ir::parse(kText);
  const auto records =
      run_pipeline(graph, functional_passes(kPlain), {.disabled = {}, .verify = true, .keep_texts = true});
  EXPECT_EQ(ir::print(graph), kOptimised);
  ASSERT_EQ(records.size(), 6U);
  const std::vector<std::string_view> names = {"unread_statistics",     "remove_noop", "constant_folding",
                                               "common_subexpressions", "dead_code",   "late_waits"};
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].pass, names[i]);
    EXPECT_EQ(records[i].changed,
              names[i] != "constant_folding" && names[i] != "unread_statistics" && names[i] != "late_waits");
    EXPECT_EQ(records[i].text_after.empty(), !records[i].changed);
  }
  EXPECT_EQ(records[4].text_after, kOptimised);
}

TEST(Pipeline, RecordsHowLongEachPassTook) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const std::vector<Pass> passes = {{"slow",
                                     [](ir::Graph&) {
                                       std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                       return false;
                                     }},
                                    {"fast", [](ir::Graph&) { return false; }}};
  auto graph = ir::parse(kText);
  const auto start = Clock::now();
  const auto records = run_pipeline(graph, passes, {});
  const double all = Seconds(Clock::now() - start).count();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_GE(records[0].seconds, 0.005);
  EXPECT_LE(records[0].seconds + records[1].seconds, all) << "each pass has its own time";
}

TEST(Pipeline, KeepsNoTextsUnlessAsked) {
  auto graph = ir::parse(kText);
  for (const auto& record : run_pipeline(graph, functional_passes(kPlain), {}))
    EXPECT_TRUE(record.text_after.empty());
}

TEST(Pipeline, LeavesOutDisabledPasses) {
  auto graph = ir::parse(kText);
  const auto records = run_pipeline(graph, functional_passes(kPlain),
                                    {.disabled = {"dead_code", "remove_noop"}, .verify = true});
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[1].pass, "constant_folding");
  EXPECT_EQ(records[2].pass, "common_subexpressions");
  EXPECT_EQ(graph.nodes.size(), 5U);
}

TEST(Pipeline, FindsPassesByName) {
  for (const auto& pass : all_passes()) {
    EXPECT_EQ(&find_pass(pass.name), &pass);
    EXPECT_FALSE(pass.summary.empty());
  }
}

TEST(Pipeline, UnknownNamesAreErrors) {
  const std::string expected =
      "[passes] there is no pass named \"dead\". "
      "The passes are unread_statistics, remove_noop, constant_folding, common_subexpressions, dead_code, "
      "keep_errors, functional_rng, decompose, sum_products, row_major_weights, small_matmul, merge_pads, "
      "gather_early, late_waits, fold_batch_norm.";
  EXPECT_EQ(error_of(ErrorCode::UnknownPass, [] { find_pass("dead"); }), expected);
  auto graph = ir::parse(kText);
  EXPECT_EQ(error_of(ErrorCode::UnknownPass,
                     [&] { run_pipeline(graph, functional_passes(kPlain), {.disabled = {"dead"}}); }),
            expected);
  EXPECT_EQ(ir::print(graph), kText) << "nothing may run before the names are checked";
}

TEST(Pipeline, DisablesPassesOfItsOwnListToo) {
  const std::vector<Pass> passes = {{"mine", [](ir::Graph&) -> bool { throw std::logic_error("ran"); }}};
  auto graph = ir::parse(kText);
  EXPECT_TRUE(run_pipeline(graph, passes, {.disabled = {"mine", "dead_code"}}).empty());
}

TEST(Pipeline, NamesTheGuiltyPass) {
  auto graph = ir::parse(kText);
  const auto run = [&](bool (*pass)(ir::Graph&)) { run_pipeline(graph, {{"bad", pass}}, {}); };
  EXPECT_EQ(error_of(ErrorCode::Internal,
                     [&] { run([](ir::Graph&) -> bool { throw std::out_of_range("at 7"); }); }),
            "[pass:bad] at 7.");
  EXPECT_EQ(error_of(ErrorCode::Internal, [&] { run([](ir::Graph&) -> bool { throw 1; }); }),
            "[pass:bad] threw an exception that is not a std::exception.");
  EXPECT_EQ(
      error_of(ErrorCode::UnsupportedOp,
               [&] {
                 run([](ir::Graph&) -> bool { throw Error(ErrorCode::UnsupportedOp, "x:y", "no", "Yes"); });
               }),
      "[pass:bad] [x:y] no. Yes.");
}

TEST(Pipeline, VerifiesAroundPasses) {
  const std::vector<Pass> breaking = {{"breaks", [](ir::Graph& graph) {
                                         graph.outputs.front().value = ir::ValueId{99};
                                         return true;
                                       }}};
  auto graph = ir::parse(kText);
  EXPECT_NO_THROW(run_pipeline(graph, breaking, {}));
  const auto before =
      error_of(ErrorCode::Verify, [&] { run_pipeline(graph, breaking, {.disabled = {}, .verify = true}); });
  EXPECT_TRUE(before.starts_with("[verify:")) << before;

  graph = ir::parse(kText);
  const auto after =
      error_of(ErrorCode::Verify, [&] { run_pipeline(graph, breaking, {.disabled = {}, .verify = true}); });
  EXPECT_TRUE(after.starts_with("[pass:breaks] left a broken graph: [verify:functional] ")) << after;
  EXPECT_NE(after.find("disable the pass breaks meanwhile"), std::string::npos) << after;
}

TEST(Pipeline, VerifiesThatCallsWithEffectsStay) {
  const std::string text = R"(graph @f functional {
  in %0: f32[4] user "x"
  %1: f32[4] = mylib.log(%0) ordered
  %2: f32[4] = mylib.log(%0) ordered
  %3: f32[4] = mylib.send(%0) ordered
  out %0 user
}
)";
  const auto error_after = [&](bool (*run)(ir::Graph&)) {
    auto graph = ir::parse(text);
    const std::vector<Pass> passes = {{"breaks", run}};
    return error_of(ErrorCode::Verify,
                    [&] { run_pipeline(graph, passes, {.disabled = {}, .verify = true}); });
  };
  const auto removed = error_after([](ir::Graph& graph) {
    graph.nodes.erase(graph.nodes.begin());
    return true;
  });
  EXPECT_TRUE(removed.starts_with("[pass:breaks] removed or moved a call of mylib.log, which has effects."))
      << removed;
  const auto moved = error_after([](ir::Graph& graph) {
    std::swap(graph.nodes[1], graph.nodes[2]);
    return true;
  });
  EXPECT_TRUE(moved.starts_with("[pass:breaks] removed or moved a call of mylib.")) << moved;
  auto graph = ir::parse(text);
  run_pipeline(graph, functional_passes(kPlain), {.disabled = {}, .verify = true});
  EXPECT_EQ(graph.nodes.size(), 3U) << "unread, and two of them equal";
  auto other = ir::parse(R"(graph @f functional {
  in %0: f32[4] user "x"
  mylib.log(%0) ordered("log")
  mylib.send(%0) ordered("net")
  mylib.any(%0) ordered
  out %0 user
}
)");
  const auto swapping = [](size_t i, size_t k) {
    return Pass{"swaps", [=](ir::Graph& g) {
                  std::swap(g.nodes[i], g.nodes[k]);
                  return true;
                }};
  };
  run_pipeline(other, {swapping(0, 1)}, {.disabled = {}, .verify = true});  // of two resources
  EXPECT_EQ(other.nodes[0].op, "mylib.send");
  error_of(ErrorCode::Verify,
           [&] { run_pipeline(other, {swapping(1, 2)}, {.disabled = {}, .verify = true}); });
}

}  // namespace
}  // namespace antegrad::passes
