// Expressions found from samples, for what user code does with sizes.
#include "symbolic/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace antegrad::symbolic {
namespace {

const std::vector<std::vector<int64_t>> kOne = {{12}, {19}, {23}, {14}};
const std::vector<std::vector<int64_t>> kTwo = {{12, 8}, {19, 13}, {23, 17}, {29, 31}, {14, 22}};

using Of = std::function<int64_t(int64_t, int64_t)>;

std::string solved(const std::vector<std::vector<int64_t>>& assignments, const Of& of) {
  Solver solver(assignments);
  Samples values;
  for (const auto& a : assignments) values.push_back(of(a[0], a.back()));
  const auto dim = solver.solve(values);
  if (!dim) return "nothing";
  EXPECT_EQ(solver.values_of(*dim), values);
  return dim->to_string();
}

TEST(Solver, OneSymbol) {
  EXPECT_EQ(solved(kOne, [](auto, auto) { return 7; }), "7");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n; }), "s0");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n - 1; }), "s0-1");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return 6 * n; }), "6*s0");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return 3 * n + 2; }), "3*s0+2");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n * n; }), "s0^2");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n / 2; }), "floor_div(s0,2)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return (n + 1) / 2; }), "floor_div(s0+1,2)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return (n + 2 * 1 - 3) / 2 + 1; }), "floor_div(s0+1,2)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return std::min<int64_t>(n, 20); }), "min(20,s0)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return std::max<int64_t>(n, 15); }), "max(15,s0)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n % 8; }), "mod(s0,8)");
}

TEST(Solver, TwoSymbols) {
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return n * m; }), "s0*s1");
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return 4 * n * m; }), "4*s0*s1");
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return n + m; }), "s0+s1");
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return 2 * n + 3 * m - 1; }), "2*s0+3*s1-1");
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return n - m + 100; }), "s0-s1+100");
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return std::max(n, m); }), "max(s0,s1)");
}

TEST(Solver, RoundedToAMultiple) {
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n + n % 2; }), "2*floor_div(s0+1,2)");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return (n + 7) / 8 * 8; }), "8*floor_div(s0+7,8)");
}

TEST(Solver, APartOfASize) {
  const std::vector<std::vector<int64_t>> many = {{12}, {19}, {23}, {14}, {29}, {31}, {37}};
  EXPECT_EQ(solved(many, [](auto n, auto) { return n - n / 4; }), "floor_div(3*s0+3,4)");
  EXPECT_EQ(solved(many, [](auto n, auto) { return n * 4 / 5; }), "floor_div(4*s0,5)");
}

TEST(Solver, AProductAndAConstant) {  // elements minus one, as in a variance
  EXPECT_EQ(solved(kTwo, [](auto n, auto m) { return 3 * n * m - 1; }), "3*s0*s1-1");
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return 2 * n * n - 1; }), "2*s0^2-1");
}

TEST(Solver, DividesByNothingThatMayBeZero) {
  const std::vector<std::vector<int64_t>> far = {{12, 40}, {19, 13}, {23, 170}, {29, 31}, {14, 222}};
  Solver solver(far);
  solver.learn(ir::Dim::symbol(0) - ir::Dim(1));
  Samples values;
  for (const auto& a : far) values.push_back(a[1] / (a[0] - 1));
  const auto dim = solver.solve(values);
  ASSERT_TRUE(dim);
  EXPECT_NO_THROW(dim->evaluate([](int32_t) { return 1; })) << dim->to_string();
}

TEST(Solver, SaysWhenThereIsNone) {
  EXPECT_EQ(solved(kOne, [](auto n, auto) { return n * n * n * n + n % 7; }), "nothing");
}

TEST(Solver, BuildsOnWhatItLearnt) {
  Solver solver(kOne);
  solver.learn(ir::Dim::symbol(0) * ir::Dim::symbol(0) + ir::Dim(1));
  Samples values;
  for (const auto& a : kOne) values.push_back((a[0] * a[0] + 1) * 3);
  ASSERT_TRUE(solver.solve(values));
}

std::string solved_real(const std::function<double(double)>& of) {
  Solver solver(kOne);
  std::vector<double> values;
  for (const auto& a : kOne) values.push_back(of(static_cast<double>(a[0])));
  const auto real = solver.solve(values);
  if (!real) return "nothing";
  for (size_t i = 0; i < kOne.size(); ++i)
    EXPECT_EQ(real->evaluate([&](int32_t) { return kOne[i][0]; }), values[i]);
  return std::string(name(real->form)) + " " + real->dim.to_string();
}

TEST(Solver, Numbers) {
  EXPECT_EQ(solved_real([](double n) { return n; }), "times s0");
  EXPECT_EQ(solved_real([](double n) { return 0.5 * n; }), "times s0");
  EXPECT_EQ(solved_real([](double n) { return 1 / n; }), "over s0");
  EXPECT_EQ(solved_real([](double n) { return 2 / (3 * n - 1); }), "over 3*s0-1");
  EXPECT_EQ(solved_real([](double n) { return std::sqrt(n); }), "times_sqrt s0");
  EXPECT_EQ(solved_real([](double n) { return 1 / std::sqrt(n); }), "over_sqrt s0");
  EXPECT_EQ(solved_real([](double n) { return std::log(n); }), "nothing");
}

}  // namespace
}  // namespace antegrad::symbolic
