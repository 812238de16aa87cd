// Checks src/ir/ops.def against the schemas of the LibTorch that the test is linked with.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "ir/ops.h"

namespace antegrad::ir {
namespace {

/// Converts "aten.add.Tensor" to aten::add, overload Tensor.
c10::OperatorName operator_name(std::string_view name) {
  const size_t first = name.find('.');
  const size_t second = name.find('.', first + 1);
  std::string full(name.substr(0, first));
  full += "::";
  full += name.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
  return {full, second == std::string_view::npos ? "" : std::string(name.substr(second + 1))};
}

std::optional<c10::OperatorHandle> handle_of(const OpInfo& row) {
  return c10::Dispatcher::singleton().findSchema(operator_name(row.name));
}

bool has_tag(const c10::OperatorHandle& handle, at::Tag tag) {
  const auto tags = handle.getTags();
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

bool takes_generator(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return argument.type()->str().find("Generator") != std::string::npos;
  });
}

TEST(OpsDef, EveryRowIsASchema) {
  for (const auto& row : all_ops()) {
    const bool own = row.name.starts_with("antegrad.");
    EXPECT_TRUE(own || handle_of(row).has_value()) << row.name;
  }
}

TEST(OpsDef, EveryOpThatRaisesIsASchemaThatDoesNotWrite) {
  for (const std::string_view name : {
#define RAISES(name, when) name,
#include "ir/ops_raising.def"
#undef RAISES
       }) {
    const auto handle = c10::Dispatcher::singleton().findSchema(operator_name(name));
    ASSERT_TRUE(handle.has_value()) << name;
    EXPECT_FALSE(handle->schema().is_mutable()) << name;
    EXPECT_NE(raises(name), Raises::Never) << name;
  }
}

TEST(OpsDef, NoRowWrites) {
  for (const auto& row : all_ops()) {
    const auto handle = handle_of(row);
    if (handle) {
      EXPECT_FALSE(handle->schema().is_mutable()) << handle->schema();
    }
  }
}

TEST(OpsDef, ViewsAndOnlyViewsAliasTheirArguments) {
  for (const auto& row : all_ops()) {
    const auto handle = handle_of(row);
    if (!handle) continue;
    const auto& schema = handle->schema();
    const auto aliases = [](const std::vector<c10::Argument>& list) {
      return std::any_of(list.begin(), list.end(),
                         [](const auto& argument) { return argument.alias_info() != nullptr; });
    };
    if (row.kind == OpKind::View) {
      EXPECT_TRUE(aliases(schema.arguments()) && aliases(schema.returns())) << schema;
    } else {
      EXPECT_FALSE(aliases(schema.returns())) << schema;
    }
    for (const auto& argument : schema.arguments())
      EXPECT_FALSE(argument.alias_info() && argument.alias_info()->isWrite()) << schema;
  }
}

TEST(OpsDef, RandomRowsDrawFromAGenerator) {
  for (const auto& row : all_ops()) {
    const auto handle = handle_of(row);
    if (!handle) continue;
    const bool seeded = has_tag(*handle, at::Tag::nondeterministic_seeded);
    const bool generator = takes_generator(handle->schema());
    if (row.kind == OpKind::Random) {
      EXPECT_TRUE(seeded || generator) << handle->schema();
    } else {
      EXPECT_FALSE(generator) << handle->schema();
    }
    // Recomputed, it would draw other numbers; attention draws when it has a dropout probability.
    if (seeded || generator) {
      EXPECT_EQ(row.recompute, Recompute::Never) << row.name;
    }
  }
}

/// Returns how many of the arguments a, b, c an expression uses.
size_t arguments_used(std::string_view expression) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  size_t used = 0;
  for (size_t i = 0; i < expression.size(); ++i) {
    const bool starts = i == 0 || !is_word(expression[i - 1]);
    const bool ends = i + 1 == expression.size() || !is_word(expression[i + 1]);
    if (starts && ends && expression[i] >= 'a' && expression[i] <= 'c')
      used = std::max(used, static_cast<size_t>(expression[i] - 'a') + 1);
  }
  return used;
}

TEST(OpsDef, ExpressionsNameArgumentsThatExist) {
  size_t with_expression = 0;
  for (const auto& row : all_ops()) {
    const auto handle = handle_of(row);
    if (!handle || row.expression.empty()) continue;
    ++with_expression;
    EXPECT_TRUE(row.kind == OpKind::Pointwise || row.kind == OpKind::Factory) << row.name;
    EXPECT_LE(arguments_used(row.expression), handle->schema().arguments().size()) << row.name;
    EXPECT_EQ(std::count(row.expression.begin(), row.expression.end(), '('),
              std::count(row.expression.begin(), row.expression.end(), ')'))
        << row.name;
  }
  EXPECT_GT(with_expression, 100u);
}

}  // namespace
}  // namespace antegrad::ir
