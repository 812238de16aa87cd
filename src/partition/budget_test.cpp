#include "partition/budget.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "antegrad/error.h"
#include "graph/random_joint.h"
#include "ir/text.h"
#include "partition/cost.h"

namespace antegrad::partition {
namespace {

constexpr int64_t kSide = 512;
constexpr int64_t kUnit = kSide * kSide * 4;  // bytes of one square tensor

int count(const ir::Graph& graph, const std::string& op) {
  return static_cast<int>(std::ranges::count(graph.nodes, op, &ir::Node::op));
}

double total_flops(const Partition& parts) {
  double total = 0;
  for (const auto* graph : {&parts.forward, &parts.backward})
    for (const auto& node : graph->nodes) total += flops(*graph, node);
  return total;
}

ir::ValueId cosine(JointTape& tape, ir::ValueId x) { return tape.unary("aten.cos", "aten.sin", x); }

// PAR-08
TEST(Budget, ComputesTheCheapAgainFirst) {
  JointTape tape;
  const auto x = tape.input(kSide, kSide), w = tape.input(kSide, kSide, ir::InputRole::Param);
  const auto joint = tape.finish({tape.mm(cosine(tape, x), w)});
  const auto eager = partition(joint, SaveAll{});
  const auto full = partition(joint, MemoryBudget::fraction(1));
  EXPECT_EQ(full.saved_bytes, kUnit);
  EXPECT_EQ(total_flops(full), total_flops(eager));
  EXPECT_EQ(full.backward, eager.backward);
  const auto half = partition(joint, MemoryBudget::fraction(0.5));
  EXPECT_EQ(half.saved_bytes, 0);
  EXPECT_EQ(count(half.backward, "aten.cos"), 1);
  EXPECT_EQ(count(half.backward, "aten.mm"), count(eager.backward, "aten.mm"));
}

// PAR-09
TEST(Budget, GivesUpOneProductPerTenth) {
  JointTape tape;
  auto x = cosine(tape, tape.input(kSide, kSide));
  for (int i = 0; i < 5; ++i) x = cosine(tape, tape.mm(x, tape.input(kSide, kSide, ir::InputRole::Param)));
  const auto joint = tape.finish({x});
  const auto eager = partition(joint, SaveAll{});
  ASSERT_EQ(eager.saved_bytes, 10 * kUnit);
  const int products = count(eager.backward, "aten.mm");
  for (int tenth = 0; tenth <= 10; ++tenth) {
    const auto parts = partition(joint, MemoryBudget::fraction(tenth / 10.0));
    SCOPED_TRACE(fmt::format("{} tenths\n{}", tenth, print(parts.decisions)));
    const int kept = std::min(tenth, 5);
    EXPECT_EQ(parts.saved_bytes, tenth == 10 ? 10 * kUnit : kept * kUnit);
    EXPECT_EQ(count(parts.backward, "aten.mm") - products, 5 - kept);
  }
}

/// Two products; the budget has room for one. Returns which of them are saved.
std::pair<bool, bool> kept_of_two(std::array<int64_t, 3> first, std::array<int64_t, 3> second,
                                  int64_t bytes) {
  JointTape tape;
  std::vector<ir::ValueId> results;
  for (const auto& [rows, inner, columns] : {first, second}) {
    const auto product = tape.mm(tape.input(rows, inner), tape.input(inner, columns, ir::InputRole::Param));
    results.push_back(tape.sum_and_expand(cosine(tape, product)));
  }
  const auto joint = tape.finish(results);
  const auto share =
      static_cast<double>(bytes) / static_cast<double>(partition(joint, SaveAll{}).saved_bytes);
  const auto parts = partition(joint, MemoryBudget::fraction(share));
  std::vector<bool> saved;
  for (const auto& decision : parts.decisions)
    if (decision.op == "aten.mm") saved.push_back(decision.saved);
  return {saved.at(0), saved.at(1)};
}

// PAR-10
TEST(Budget, DropsTheCheaperOfTwoEqualResults) {
  const int64_t bytes = 128 * 128 * 4;
  EXPECT_EQ(kept_of_two({128, 256, 128}, {128, 512, 128}, bytes), std::pair(false, true));
  EXPECT_EQ(kept_of_two({128, 512, 128}, {128, 256, 128}, bytes), std::pair(true, false));
}

// PAR-11
TEST(Budget, KeepsMoreOperationsRatherThanFillTheBudget) {
  // 40,960 and 73,728 bytes in a budget of 81,920: the second fills it better.
  EXPECT_EQ(kept_of_two({128, 512, 80}, {128, 64, 144}, 81920), std::pair(true, false));
  // Per byte the first saves more operations, but only one fits, and the second took more in total.
  EXPECT_EQ(kept_of_two({128, 300, 80}, {128, 200, 144}, 81920), std::pair(false, true));
}

/// Attention over `tokens`, then a linear layer, both of `width`; returns the op that is recomputed.
std::string recomputed_of_attention_and_linear(int64_t tokens, int64_t width) {
  const auto text = fmt::format(R"(
graph @f joint {{
  in %0: f32[1,8,{0},{1}] user "q"
  in %1: f32[1,8,{0},{1}] user "k"
  in %2: f32[1,8,{0},{1}] user "v"
  in %3: f32[{2},{2}] param "w"
  in %4: f32[{0},{2}] tangent
  %5: f32[1,8,{0},{1}] = aten._scaled_dot_product_some_attention(%0, %1, %2)
  %6: f32[{0},{2}] &%5 = aten.view(%5, [{0}, {2}])
  %7: f32[{0},{2}] = aten.mm(%6, %3)
  %8: f32[{0},{2}] = aten.cos(%7)
  %9: f32[{0},{2}] = aten.sin(%7) backward
  %10: f32[{0},{2}] = aten.mul.Tensor(%4, %9) backward
  %11: f32[{2},{0}]{{1,{2}}} &%5 = aten.t(%6) backward
  %12: f32[{2},{2}] = aten.mm(%11, %10) backward
  %13: f32[1,8,{0},{1}] = aten._some_attention_backward(%10, %0, %1, %2, %5) backward
  out %8 user
  out %13 grad 0
  out %12 grad 3
}}
)",
                                tokens, width / 8, width);
  const auto parts = partition(ir::parse(text), MemoryBudget::fraction(0.5));
  std::string out;
  for (const auto& decision : parts.decisions)
    if (!decision.saved && (decision.op == "aten.mm" || decision.op.find("attention") != std::string::npos))
      out += decision.op;
  return out;
}

// PAR-12
TEST(Budget, AttentionOrLinearByOperations) {
  EXPECT_EQ(recomputed_of_attention_and_linear(2048, 512), "aten.mm");
  EXPECT_EQ(recomputed_of_attention_and_linear(128, 1024), "aten._scaled_dot_product_some_attention");
}

// PAR-13
TEST(Budget, LeavesRegionsOfRulesAsTheyAre) {
  JointTape tape;
  auto x = tape.input(kSide, kSide);
  for (const auto* scope : {"first", "second"}) {
    tape.scope(scope);
    for (int i = 0; i < 2; ++i) x = cosine(tape, tape.mm(x, tape.input(kSide, kSide, ir::InputRole::Param)));
    tape.scope("between");
    x = tape.mm(x, tape.input(kSide, kSide, ir::InputRole::Param));
  }
  const auto joint = tape.finish({cosine(tape, x)});
  const std::vector<ScopeRule> rules = {
      {"first", Keep::Recompute}, {"second", Keep::Recompute}, {"between", Keep::Save}};
  const auto by_hand = partition(joint, MinCut{}, rules);
  const auto tiny = partition(joint, MemoryBudget::fraction(0), rules);
  EXPECT_EQ(tiny.saved_bytes, by_hand.saved_bytes);
  EXPECT_EQ(total_flops(tiny), total_flops(by_hand));
  EXPECT_EQ(by_hand.saved_bytes, 2 * kUnit);
  EXPECT_EQ(count(by_hand.backward, "aten.mm"), count(partition(joint, SaveAll{}).backward, "aten.mm") + 4);
}

/// Sets `fits` to false if the budget is too small.
Partition try_budget(const ir::Graph& joint, const MemoryBudget& budget, bool& fits) {
  fits = true;
  try {
    return partition(joint, budget);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    fits = false;
    return {};
  }
}

TEST(Budget, MoreMemoryNeverComputesMore) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    const auto joint = random_joint(seed, 5 + static_cast<int>(seed % 20));
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, ir::print(joint)));
    const auto most = partition(joint, SaveAll{}).peak.peak();
    bool had_one = false;
    int64_t peak = 0;
    double work = 0;
    for (int step = 0; step <= 10; ++step) {
      const int64_t bytes = most * step / 10;
      bool fits = false;
      const auto parts = try_budget(joint, MemoryBudget::bytes(bytes), fits);
      ASSERT_TRUE(fits || !had_one) << "a larger budget fails";
      if (!fits) continue;
      ASSERT_LE(parts.peak.peak(), bytes);
      if (had_one) {
        ASSERT_GE(parts.peak.peak(), peak);
        ASSERT_LE(total_flops(parts), work);
      }
      had_one = true;
      peak = parts.peak.peak();
      work = total_flops(parts);
    }
    ASSERT_TRUE(had_one);
  }
}

TEST(Budget, SharesAreKept) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    const auto joint = random_joint(seed, 5 + static_cast<int>(seed % 20));
    const auto all = partition(joint, SaveAll{}).saved_bytes;
    int64_t before = partition(joint, MemoryBudget::fraction(0)).saved_bytes;
    for (int step = 1; step <= 10; ++step) {
      bool fits = false;
      const auto parts = try_budget(joint, MemoryBudget::fraction(step / 10.0), fits);
      if (!fits) continue;
      ASSERT_LE(static_cast<double>(parts.saved_bytes), static_cast<double>(all) * step / 10 + 1e-3);
      ASSERT_GE(parts.saved_bytes, before);
      before = parts.saved_bytes;
    }
    ASSERT_EQ(before, all);
  }
}

TEST(Budget, ErrorNamesTheSmallestBudget) {
  JointTape tape;
  const auto x = tape.input(8, 8);
  const auto joint = tape.finish({tape.dropout(tape.tanh(x))});
  try {
    partition(joint, MemoryBudget::bytes(100));
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text,
              "[partition] no plan stays within 100 bytes; the smallest possible budget is 768 bytes. Use "
              "MemoryBudget::bytes(768) or more.");
  }
  EXPECT_EQ(partition(joint, MemoryBudget::bytes(768)).peak.peak(), 768);
  EXPECT_THROW(partition(joint, MemoryBudget::bytes(767)), Error);
  EXPECT_THROW(partition(joint, MemoryBudget::fraction(0.1)), Error);
  EXPECT_THROW(partition(joint, MemoryBudget::fraction(1.5)), Error);
  EXPECT_NO_THROW(partition(joint, MemoryBudget::fraction(0)));
}

TEST(Budget, LongChainNeedsLittleMore) {
  // Equal steps: a peak far below that of MinCut is possible only if the saved values are evenly spaced.
  constexpr int64_t kRows = 4096, kColumns = 32, kStep = kRows * kColumns * 4;
  JointTape tape;
  auto x = tape.input(kRows, kColumns);
  for (int i = 0; i < 32; ++i)
    x = tape.tanh(tape.mm(x, tape.input(kColumns, kColumns, ir::InputRole::Param)));
  const auto joint = tape.finish({x});
  EXPECT_GT(partition(joint, MinCut{}).peak.peak(), 32 * kStep);
  EXPECT_GT(partition(joint, RecomputeAll{}).peak.peak(), 32 * kStep);
  EXPECT_LE(partition(joint, MemoryBudget::bytes(16 * kStep)).peak.peak(), 16 * kStep);
}

}  // namespace
}  // namespace antegrad::partition
