#include "codegen/text/expression.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "ir/ops.h"

namespace antegrad::codegen {
namespace {

using ir::DType;

std::string printed(std::string_view text, DType operand = DType::F32) {
  std::set<std::string> functions;
  return expression_text(text, operand, {"x", "y", "z", "w"}, functions);
}

TEST(Expression, NumbersHaveTheTypeOfTheOperands) {
  EXPECT_EQ(printed("1 / a"), "1.0f / x");
  EXPECT_EQ(printed("1 / a", DType::F64), "1.0 / x");
  EXPECT_EQ(printed("a * 0.1", DType::BF16), "x * 0.1f");
  EXPECT_EQ(printed("a + 1", DType::I64), "x + 1");
  EXPECT_EQ(printed("a == -inf"), "x == -__builtin_inff()");
  EXPECT_EQ(printed("a * (pi / 180)", DType::F64), "x * (3.141592653589793 / 180.0)");
}

TEST(Expression, KeepsThePrecedenceOfTheText) {
  EXPECT_EQ(printed("(a + b) * c"), "(x + y) * z");
  EXPECT_EQ(printed("a - (b - c)"), "x - (y - z)");
  EXPECT_EQ(printed("a - b - c"), "x - y - z");
  EXPECT_EQ(printed("a / (b * c)"), "x / (y * z)");
  EXPECT_EQ(printed("-(a + b)"), "-(x + y)");
  EXPECT_EQ(printed("- -a"), "-(-x)");
  EXPECT_EQ(printed("a > b ? a - b : a < -b ? a + b : 0"), "x > y ? x - y : x < -y ? x + y : 0.0f");
  EXPECT_EQ(printed("(a ? b : c) + a"), "(x ? y : z) + x");
  EXPECT_EQ(printed("(a > 0) - (a < 0)"), "(x > 0.0f) - (x < 0.0f)");
  EXPECT_EQ(printed("(a != 0) != (b != 0)"), "(x != 0.0f) != (y != 0.0f)");
}

TEST(Expression, LogicHasNoBranches) {
  EXPECT_EQ(printed("a != 0 && b != 0"), "(x != 0.0f) & (y != 0.0f)");
  EXPECT_EQ(printed("a && b", DType::Bool), "(x != 0) & (y != 0)");
  EXPECT_EQ(printed("a >= -b && a <= b ? 0 : a"), "(x >= -y) & (x <= y) ? 0.0f : x");
  EXPECT_EQ(printed("~a", DType::Bool), "!x");
  EXPECT_EQ(printed("~a", DType::I32), "~x");
}

TEST(Expression, NarrowIntegersWrapAfterEachOperation) {
  EXPECT_EQ(printed("a + c * b", DType::I8), "(int8_t)(x + (int8_t)(z * y))");
  EXPECT_EQ(printed("-a", DType::U8), "(uint8_t)(-x)");
  EXPECT_EQ(printed("a & b", DType::I16), "x & y");
  EXPECT_EQ(printed("a << b", DType::I8), "ag_shift_left_i8(x, y)");
}

TEST(Expression, FunctionsHaveTheTypeInTheirName) {
  std::set<std::string> functions;
  EXPECT_EQ(expression_text("exp(a - b) + nan_max(a, 0)", DType::F64, {"v1", "v2"}, functions),
            "ag_exp_f64(v1 - v2) + ag_nan_max_f64(v1, 0.0)");
  EXPECT_EQ(functions, (std::set<std::string>{"ag_exp_f64", "ag_nan_max_f64"}));
  EXPECT_EQ(printed("1 / (1 + exp(-a))"), "ag_sigmoid_f32(x)");
  EXPECT_EQ(printed("sqrt(a)"), "__builtin_sqrtf(x)");
  EXPECT_EQ(printed("abs(a)", DType::I32), "ag_abs_i32(x)");
}

TEST(Expression, SaysWhatIsNotSupported) {
  EXPECT_TRUE(expression_supported("exp(a)", DType::F32));
  for (const auto* text :
       {"", "a +", "(a", "a b", "what(a)", "a ? b", "exp(a", "z", "1e", "a & b", "~a", "a << b"})
    EXPECT_FALSE(expression_supported(text, DType::F32)) << text;
  EXPECT_FALSE(expression_supported("exp(a)", DType::I64));
  EXPECT_FALSE(expression_supported("a * 0.5", DType::I64));
  EXPECT_FALSE(expression_supported("pi * a", DType::I64));
  EXPECT_FALSE(expression_supported("a + b", DType::C64));
  EXPECT_THROW(printed("what(a)"), Error);
}

/// Rows of the table whose expression is not C over floats need a decomposition or integers.
TEST(Expression, AlmostAllRowsOfTheTableAreSupportedForFloats) {
  std::set<std::string> unsupported;
  for (const auto& op : ir::all_ops())
    for (const auto type : {DType::F32, DType::F64})
      if (!op.expression.empty() && !expression_supported(op.expression, type))
        unsupported.insert(std::string(op.expression));
  EXPECT_EQ(unsupported, (std::set<std::string>{"a & b", "a << b", "a >> b", "a ^ b", "a | b", "conj(a)",
                                                "gcd(a, b)", "lcm(a, b)", "round_mode(a / b, c)", "~a"}));
}

TEST(Expression, EveryArgumentMustBeGiven) {
  std::set<std::string> functions;
  EXPECT_THROW(expression_text("a + b", DType::F32, {"x"}, functions), Error);
}

}  // namespace
}  // namespace antegrad::codegen
