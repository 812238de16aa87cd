#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/ops/shape_rules_check.h"

namespace antegrad::capture::check {

inline Tensor f(at::IntArrayRef sizes) { return at::rand(sizes) * 0.8 + 0.1; }
inline Tensor ints(at::IntArrayRef sizes, int64_t high) { return at::randint(high, sizes, at::kLong); }
inline Tensor bools(at::IntArrayRef sizes) { return at::rand(sizes) > 0.5; }
inline Tensor cplx(at::IntArrayRef sizes) { return at::complex(f(sizes), f(sizes)); }
using Ints = std::vector<int64_t>;
inline c10::List<bool> mask(std::initializer_list<bool> values) { return c10::List<bool>(values); }
inline const IValue kNone;

/// Checks one call and its variants, and the op's out= and in-place variants where these have a rule.
class ShapeRules : public ::testing::Test {
 protected:
  void call(const std::string& name, const Stack& given) {
    auto op = find("aten::" + name);
    auto args = with_defaults(op.schema(), given);
    ASSERT_TRUE(args) << name << ": a required argument is missing";
    auto rule = find_shape_rule(op.operator_name());
    ASSERT_NE(rule, nullptr) << name << " has no rule";
    bool first = true;
    for (const auto& variant : variants(*args)) {
      auto outcome = compare(op, rule, variant);
      if (first) {
        EXPECT_TRUE(outcome.ran) << name << ": the CPU kernel rejects the sample";
        first = false;
      }
      if (!outcome.ran) continue;
      EXPECT_EQ(outcome.expected, outcome.actual) << name << "(" << describe(variant, {}) << ")";
      derived(name, op.schema(), variant, outcome.results);
    }
  }

 private:
  static c10::OperatorHandle find(const std::string& name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(op_name(name).name.c_str(),
                                                          op_name(name).overload_name.c_str());
  }

  void derived(const std::string& name, const c10::FunctionSchema& schema, const Stack& args,
               const Stack& results) {
    auto dot = name.find('.');
    std::string base = "aten::" + name.substr(0, dot);
    static const std::vector<c10::OperatorName> all = c10::Dispatcher::singleton().getAllOpNames();
    for (const auto& other : all) {
      if (other.name != base || other == schema.operator_name()) continue;
      auto rule = find_shape_rule(other);
      auto op = c10::Dispatcher::singleton().findSchema(other);
      // Its kernel leaves an empty out argument empty.
      if (other.name == "aten::binary_cross_entropy") continue;
      if (!rule || !op || op->schema().arguments().size() != args.size() + results.size()) continue;
      if (!op->schema().arguments().back().is_out()) continue;
      Stack with_out = args;
      for (const auto& result : results) {
        if (!result.isTensor() || !result.toTensor().defined()) return;
        with_out.emplace_back(at::empty({0}, result.toTensor().options()));
      }
      auto outcome = compare(*op, rule, with_out);
      if (!outcome.ran) continue;
      EXPECT_EQ(outcome.expected, outcome.actual) << other << "(" << describe(with_out, {}) << ")";
    }
  }
};

}  // namespace antegrad::capture::check
