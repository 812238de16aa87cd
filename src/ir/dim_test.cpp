#include "ir/dim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "antegrad/error.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Dim s(int32_t index) { return Dim::symbol(index); }

struct Undefined {};  ///< division by zero or a value out of range

/// An expression tree that is evaluated as written, as a reference for the canonical form.
struct Tree {
  char op = 'c';  // c constant, s symbol, + - * / % m M
  int64_t value = 0;
  std::vector<Tree> children;

  Dim build() const {
    if (op == 'c') return value;
    if (op == 's') return s(static_cast<int32_t>(value));
    const Dim a = children[0].build(), b = children[1].build();
    switch (op) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return floor_div(a, b);
      case '%':
        return mod(a, b);
      case 'm':
        return min(a, b);
      default:
        return max(a, b);
    }
  }

  __int128 evaluate(const std::vector<int64_t>& symbols) const {
    if (op == 'c') return value;
    if (op == 's') return symbols[value];
    const __int128 a = children[0].evaluate(symbols), b = children[1].evaluate(symbols);
    const __int128 result = apply(a, b);
    if (result > kMax || result < kMin) throw Undefined{};
    return result;
  }

  __int128 apply(__int128 a, __int128 b) const {
    switch (op) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case 'm':
        return a < b ? a : b;
      case 'M':
        return a > b ? a : b;
      default:
        break;
    }
    if (b == 0) throw Undefined{};
    __int128 quotient = a / b;
    while (quotient * b > a && b > 0) --quotient;
    while (quotient * b < a && b < 0) --quotient;
    return op == '/' ? quotient : a - quotient * b;
  }
};

Tree random_tree(std::mt19937& rng, int depth) {
  Tree tree;
  if (depth == 0 || rng() % 6 == 0) {
    tree.op = rng() % 5 < 2 ? 'c' : 's';
    tree.value = tree.op == 's' ? static_cast<int64_t>(rng() % 3) : static_cast<int64_t>(rng() % 17) - 6;
    return tree;
  }
  tree.op = "+-**//%%mM"[rng() % 10];
  tree.children = {random_tree(rng, depth - 1), random_tree(rng, depth - 1)};
  if ((tree.op == '/' || tree.op == '%') && rng() % 4 != 0) {
    const int64_t divisors[] = {2, 3, 4, 6, 8, 12, -2, -3, -4, 1, -1, 5};
    tree.children[1] = {'c', divisors[rng() % 12], {}};
  }
  return tree;
}

/// The Dim of a random tree; none if a constant in it divides by zero or it exceeds the limits.
std::optional<Dim> try_build(const Tree& tree) {
  try {
    return tree.build();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return std::nullopt;
  }
}

Dim::Assignment assign(const std::vector<int64_t>& values) {
  return [&values](int32_t symbol) { return values[symbol]; };
}

std::vector<int64_t> random_assignment(std::mt19937& rng) {
  std::vector<int64_t> values(3);
  for (auto& value : values) value = static_cast<int64_t>(rng() % 41) - 20;
  return values;
}

TEST(DimProperty, CanonicalFormEvaluatesAsWritten) {
  std::mt19937 rng(1);
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const Tree tree = random_tree(rng, 1 + static_cast<int>(rng() % 4));
    const auto dim = try_build(tree);
    if (!dim) continue;
    for (int j = 0; j < 20; ++j) {
      const auto values = random_assignment(rng);
      int64_t expected = 0;
      try {
        expected = static_cast<int64_t>(tree.evaluate(values));
      } catch (const Undefined&) {
        continue;
      }
      ASSERT_EQ(dim->evaluate(assign(values)), expected)
          << dim->to_string() << " at " << values[0] << " " << values[1] << " " << values[2];
      ++compared;
    }
  }
  EXPECT_GT(compared, 200000);
}

TEST(DimProperty, SubstitutionCommutesWithEvaluation) {
  std::mt19937 rng(2);
  int compared = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto outer = try_build(random_tree(rng, 3));
    std::vector<Dim> inner;
    for (int k = 0; k < 3; ++k) inner.push_back(try_build(random_tree(rng, 2)).value_or(Dim(k)));
    if (!outer) continue;
    try {
      const Dim replaced = outer->substitute([&](int32_t symbol) { return inner[symbol]; });
      for (int j = 0; j < 10; ++j) {
        const auto values = random_assignment(rng);
        std::vector<int64_t> middle;
        for (const auto& dim : inner) middle.push_back(dim.evaluate(assign(values)));
        ASSERT_EQ(replaced.evaluate(assign(values)), outer->evaluate(assign(middle)))
            << outer->to_string() << " became " << replaced.to_string();
        ++compared;
      }
    } catch (const Error&) {  // a division by zero, or an expression that exceeds the limits
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(DimProperty, BoundsContainAllValues) {
  std::mt19937 rng(3);
  int finite = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto dim = try_build(random_tree(rng, 3));
    if (!dim) continue;
    std::vector<Range> ranges(3);
    for (auto& range : ranges) {
      const int64_t lower = static_cast<int64_t>(rng() % 21) - 10;
      range = {lower, lower + static_cast<int64_t>(rng() % 8)};
    }
    auto shown = ranges;
    for (auto& range : shown) {
      if (rng() % 5 == 0) range.lower = kMin;
      if (rng() % 5 == 0) range.upper = kMax;
    }
    const Range bounds = dim->bounds([&](int32_t symbol) { return shown[symbol]; });
    if (bounds.lower != kMin && bounds.upper != kMax) ++finite;
    for (int j = 0; j < 30; ++j) {
      std::vector<int64_t> values;
      for (const auto& r : ranges)
        values.push_back(r.lower +
                         static_cast<int64_t>(rng() % static_cast<uint64_t>(r.upper - r.lower + 1)));
      try {
        const int64_t value = dim->evaluate(assign(values));
        ASSERT_LE(bounds.lower, value) << dim->to_string();
        ASSERT_GE(bounds.upper, value) << dim->to_string();
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(finite, 2000);
}

TEST(DimProperty, TextRoundTrips) {
  std::mt19937 rng(4);
  for (int i = 0; i < 20000; ++i) {
    const auto dim = try_build(random_tree(rng, 1 + static_cast<int>(rng() % 4)));
    if (!dim) continue;
    const Dim parsed = parse_dim(dim->to_string());
    ASSERT_EQ(parsed, *dim) << dim->to_string();
    ASSERT_EQ(parsed.to_string(), dim->to_string());
    ASSERT_EQ(parsed.hash(), dim->hash());
  }
}

TEST(DimProperty, AlgebraGivesEqualForms) {
  std::mt19937 rng(5);
  for (int i = 0; i < 5000; ++i) {
    const auto x = try_build(random_tree(rng, 2)), y = try_build(random_tree(rng, 2)),
               z = try_build(random_tree(rng, 2));
    if (!x || !y || !z) continue;
    const Dim &a = *x, &b = *y, &c = *z;
    const std::string shown = a.to_string() + " ; " + b.to_string() + " ; " + c.to_string();
    ASSERT_EQ(a + b, b + a) << shown;
    ASSERT_EQ(a * b, b * a) << shown;
    ASSERT_EQ((a + b) + c, a + (b + c)) << shown;
    ASSERT_EQ((a * b) * c, a * (b * c)) << shown;
    ASSERT_EQ((a + b) * c, a * c + b * c) << shown;
    ASSERT_EQ(a - a, Dim(0)) << shown;
    ASSERT_EQ(a + b - b, a) << shown;
    ASSERT_EQ(min(a, b), min(b, a)) << shown;
    ASSERT_EQ(max(max(a, b), c), max(a, max(b, c))) << shown;
    ASSERT_EQ(min(min(a, b), c), min(a, min(b, c))) << shown;
    ASSERT_EQ(min(a, a), a) << shown;
    ASSERT_EQ(floor_div(a * Dim(6), 3), a * Dim(2)) << shown;
    ASSERT_EQ(floor_div(a * Dim(5) + b, 5), a + floor_div(b, 5)) << shown;
    ASSERT_EQ(mod(a * Dim(5) + b, 5), mod(b, 5)) << shown;
    ASSERT_EQ(mod(mod(a, 6), 3), mod(a, 3)) << shown;
    // A quotient of sums that contain atoms of bounded range may have several forms; a polynomial has one.
    if (shown.find('(') == std::string::npos) {
      ASSERT_EQ(floor_div(floor_div(a, 2), 3), floor_div(a, 6)) << shown;
    }
  }
}

TEST(DimProperty, OrderIsTotal) {
  std::mt19937 rng(6);
  std::vector<Dim> dims;
  while (dims.size() < 150)
    if (const auto dim = try_build(random_tree(rng, 2))) dims.push_back(*dim);
  for (const auto& a : dims) {
    for (const auto& b : dims) {
      ASSERT_EQ((a < b) + (b < a) + (a == b), 1) << a.to_string() << " ; " << b.to_string();
      ASSERT_TRUE(a != b || a.hash() == b.hash());
    }
  }
  std::sort(dims.begin(), dims.end());
  for (size_t i = 0; i + 2 < dims.size(); i += 2) ASSERT_FALSE(dims[i + 2] < dims[i]);
}

TEST(Dim, Texts) {
  EXPECT_EQ((s(0) * s(0) * Dim(3) + s(1) - Dim(7)).to_string(), "3*s0^2+s1-7");
  EXPECT_EQ((Dim(0) - s(0)).to_string(), "-s0");
  EXPECT_EQ((s(1) * s(0) + s(0)).to_string(), "s0*s1+s0");
  EXPECT_EQ(floor_div(s(0) - Dim(1), 2).to_string(), "floor_div(s0+1,2)-1");
  EXPECT_EQ((floor_div(s(0) + Dim(2 - 2 - 1), 2) + Dim(1)).to_string(), "floor_div(s0+1,2)");
  EXPECT_EQ(min(s(1), min(Dim(5), s(0))).to_string(), "min(5,s0,s1)");
  EXPECT_EQ(mod(s(0) * Dim(6) + Dim(2), 4).to_string(), "2*mod(s0+1,2)");
  EXPECT_EQ(floor_div(s(0), s(1)).to_string(), "floor_div(s0,s1)");
  EXPECT_EQ((s(0) + Dim(kMin)).to_string(), "s0-9223372036854775808");
}

TEST(Dim, RangesSettleWhatTheyCan) {
  EXPECT_EQ(min(mod(s(0), 4), Dim(3)), mod(s(0), 4));
  EXPECT_EQ(max(mod(s(0), 4), Dim(5)), Dim(5));
  EXPECT_EQ(floor_div(mod(s(0), 4), 4), Dim(0));
  EXPECT_EQ(mod(mod(s(0), 4), 7), mod(s(0), 4));
  EXPECT_EQ(mod(mod(s(0), 3) * Dim(2) + Dim(1), 8), mod(s(0), 3) * Dim(2) + Dim(1));
  EXPECT_EQ(min(s(0), s(0) + Dim(1)), s(0));
  EXPECT_NE(floor_div(s(0), s(0)), Dim(1)) << "s0 may be zero";
}

TEST(Dim, ParsesWhatPeopleWrite) {
  EXPECT_EQ(parse_dim(" ( s0 + 1 ) * 2 "), s(0) * Dim(2) + Dim(2));
  EXPECT_EQ(parse_dim("-(s0-3)^2"), Dim(0) - (s(0) - Dim(3)) * (s(0) - Dim(3)));
  EXPECT_EQ(parse_dim("-9223372036854775808"), Dim(kMin));
  EXPECT_EQ(parse_dim("2*3*s1"), s(1) * Dim(6));
}

void expect_invalid(const std::function<void()>& action, std::string_view part) {
  try {
    action();
    FAIL() << "nothing thrown, expected " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
  }
}

TEST(Dim, OverflowAndZeroDivisorsThrow) {
  expect_invalid([] { Dim(kMax) + Dim(1); }, "overflows 64 bits");
  expect_invalid([] { Dim(kMin) - Dim(1); }, "overflows 64 bits");
  expect_invalid([] { Dim(kMax) * Dim(2); }, "overflows 64 bits");
  expect_invalid([] { floor_div(Dim(kMin), Dim(-1)); }, "overflows 64 bits");
  expect_invalid([] { s(0) * Dim(kMax) + s(0); }, "overflows 64 bits");
  expect_invalid([] { (s(0) * s(0)).evaluate([](int32_t) { return kMax; }); }, "overflows 64 bits");
  expect_invalid([] { floor_div(s(0), 0); }, "divides by zero");
  expect_invalid([] { mod(s(0), Dim(0)); }, "divides by zero");
  expect_invalid([] { mod(s(0), s(1)).evaluate([](int32_t) { return 0; }); }, "divides by zero");
  expect_invalid([] { Dim::symbol(-1); }, "symbol index -1 is negative");
}

TEST(Dim, EvaluationMayPassBeyond64Bits) {
  const Dim square = s(0) * s(0) - s(1) * s(1);
  EXPECT_EQ(square.evaluate([](int32_t) { return int64_t{1} << 40; }), 0);
}

TEST(Dim, RunawayExpressionsThrow) {
  expect_invalid(
      [] {
        Dim dim = s(0);
        for (int32_t i = 1; i < 100; ++i) dim = floor_div(dim * dim + s(i), s(i));
      },
      "allowed are 1000 and 40");
  expect_invalid(
      [] {
        Dim sum = 0, product = 1;
        for (int32_t i = 0; i < 40; ++i) sum = sum + s(i);
        for (int i = 0; i < 8; ++i) product = product * sum;
      },
      "nodes at depth");
}

TEST(Dim, SymbolsAreCollectedOnceAscending) {
  std::vector<int32_t> symbols;
  (floor_div(s(4), s(2)) + min(s(1), s(4) * s(9))).collect_symbols(symbols);
  EXPECT_EQ(symbols, (std::vector<int32_t>{1, 2, 4, 9}));
  EXPECT_EQ(s(7).as_symbol(), 7);
  EXPECT_FALSE((s(7) + Dim(1)).as_symbol());
  EXPECT_FALSE((s(7) * Dim(2)).as_symbol());
  EXPECT_FALSE(Dim(7).as_symbol());
}

}  // namespace
}  // namespace antegrad::ir
