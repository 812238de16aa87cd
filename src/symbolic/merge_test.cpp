// Merging graphs captured at several sizes.
#include "symbolic/merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/substitute.h"
#include "ir/text.h"

namespace antegrad::symbolic {
namespace {

using Text = std::string (*)(int64_t);
const std::vector<std::vector<int64_t>> kSamples = {{6}, {11}, {13}, {10}};

ir::Graph merged(Text text) {
  std::vector<ir::Graph> graphs;
  for (const auto& sample : kSamples) graphs.push_back(ir::parse(text(sample[0])));
  std::vector<const ir::Graph*> pointers;
  for (const auto& graph : graphs) pointers.push_back(&graph);
  Solver solver(kSamples);
  auto out = merge(pointers, solver);
  out.symbols.resize(1);
  for (size_t i = 0; i < graphs.size(); ++i) EXPECT_TRUE(ir::substitute(out, kSamples[i]) == graphs[i]);
  return out;
}

std::string reason(Text text) {
  try {
    merged(text);
  } catch (const Mismatch& mismatch) {
    return mismatch.reason;
  }
  return "";
}

std::string program(int64_t n) {
  return fmt::format(
      "graph @f functional {{\n  in %0: f32[{0},3] user \"x\"\n  in %1: i64[] user\n"
      "  %2: f32[{0},3]{{1,{0}}} = aten.t(%0)\n"
      "  %3: f32[{1}] = aten.view(%2, [{1}])\n"
      "  %4: f32[{1}] = aten.mul.Scalar(%3, {2})\n"
      "  %5: f32[{3}] = aten.slice.Tensor(%4, 0, {0})\n"
      "  out %5 user\n}}\n",
      n, 3 * n, 1.0 / static_cast<double>(n), 2 * n);
}

TEST(Merge, SolvesSizesStridesArgumentsAndNumbers) {
  const auto text = ir::print(merged(program));
  EXPECT_NE(text.find("%2: f32[s0,3]{1,s0}"), std::string::npos) << text;
  EXPECT_NE(text.find("aten.view(%2, [3*s0])"), std::string::npos) << text;
  EXPECT_NE(text.find("over(1.0, s0)"), std::string::npos) << text;
  EXPECT_NE(text.find("%5: f32[2*s0]"), std::string::npos) << text;
}

std::string branch(int64_t n) {
  return fmt::format(
      "graph @f functional {{\n  in %0: f32[{0}] user \"x\"\n  %1: f32[{0}] = aten.{1}(%0)\n  out %1 "
      "user\n}}\n",
      n, n > 12 ? "sin" : "cos");
}

TEST(Merge, NamesTheFirstOpThatIsAnother) {
  const auto why = reason(branch);
  EXPECT_NE(why.find("aten.cos"), std::string::npos) << why;
}

std::string unsolvable(int64_t n) {
  return fmt::format(
      "graph @f functional {{\n  in %0: f32[{0}] user \"x\"\n  %1: f32[{0}] = aten.mul.Scalar(%0, {1})\n  "
      "out %1 "
      "user\n}}\n",
      n, n == 6 ? 1.5 : static_cast<double>(n % 4) + 0.123);
}

TEST(Merge, RefusesNumbersThatItCannotSolve) {
  const auto why = reason(unsolvable);
  EXPECT_NE(why.find("node 0 (aten.mul.Scalar): the number that is 1.5"), std::string::npos) << why;
}

std::string constant(int64_t n) {
  return fmt::format(
      "graph @f functional {{\n  in %0: f32[{0}] user \"x\"\n  %1: i64[] = "
      "antegrad.constant(data=x\"{1:02x}00000000000000\", wrapped=true)\n  %2: f32[{0}] = "
      "aten.div.Tensor(%0, %1)\n"
      "  out %2 user\n}}\n",
      n, n);
}

TEST(Merge, NumbersOfTheHost) {
  const auto text = ir::print(merged(constant));
  EXPECT_NE(text.find("antegrad.constant(value=s0, wrapped=true)"), std::string::npos) << text;
}

}  // namespace
}  // namespace antegrad::symbolic
