// How much of ATen the shape rules cover, and the rules against every sample.
#include <gtest/gtest.h>

#include <set>

#include "cpu/ops/shape_rules_check.h"
#include "samples/samples.h"

namespace antegrad::capture::check {
namespace {

bool lacks_meta_kernel(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  for (auto key :
       {DispatchKey::Meta, DispatchKey::CompositeImplicitAutograd, DispatchKey::CompositeExplicitAutograd,
        DispatchKey::CompositeExplicitAutogradNonFunctional}) {
    if (op.hasKernelForDispatchKey(key)) return false;
  }
  return op.hasKernelForDispatchKey(DispatchKey::CPU) || op.hasKernelForDispatchKey(DispatchKey::CUDA);
}

TEST(ShapeRuleCoverage, OverloadsWithoutMetaKernel) {
  int total = 0, with_rule = 0, data_dependent = 0;
  std::set<std::string> left;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || !lacks_meta_kernel(*op)) continue;
    ++total;
    bool depends = has_data_dependent_shape(name), ruled = find_shape_rule(name) != nullptr;
    EXPECT_FALSE(depends && ruled) << c10::toString(name) << " cannot have a rule";
    if (ruled) ++with_rule;
    if (depends) ++data_dependent;
    if (!ruled && !depends) left.insert(c10::toString(name));
  }
  RecordProperty("total", total);
  RecordProperty("with_rule", with_rule);
  RecordProperty("data_dependent", data_dependent);
  RecordProperty("left", static_cast<int>(left.size()));
  std::string names;
  for (const auto& name : left) names += name + " ";
  RecordProperty("left_names", names);
  EXPECT_GE(with_rule, 270);
  EXPECT_LE(left.size(), 45U);
}

TEST(ShapeRuleCoverage, Lookup) {
  EXPECT_EQ(find_shape_rule({"aten::no_such_op", ""}), nullptr);
  EXPECT_EQ(find_shape_rule({"aten::add", "Tensor"}), nullptr) << "add.Tensor has a meta kernel of its own";
  EXPECT_NE(find_shape_rule({"aten::where", "self"}), nullptr);
  EXPECT_NE(find_shape_rule({"aten::where", "self_out"}), nullptr) << "out variants are derived";
  EXPECT_NE(find_shape_rule({"aten::logical_and_", ""}), nullptr) << "in-place variants are derived";
}

/// Calls `shape` for every sample and its variants, and compares with the CPU kernel. Returns the number of
/// compared calls.
template <class Wanted, class Shape>
int sweep(Wanted wanted, Shape shape) {
  int compared = 0;
  for (const auto& sample : samples::make(7)) {
    auto name = op_name(sample.op);
    if (!wanted(name)) continue;
    auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
    for (const auto& args : variants(sample.args)) {
      auto outcome = compare(
          op, [&](Stack& stack) { shape(op, stack); }, args);
      if (!outcome.ran) continue;
      ++compared;
      EXPECT_EQ(outcome.expected, outcome.actual) << sample.op << "(" << describe(args, {}) << ")";
    }
  }
  return compared;
}

TEST(ShapeRuleCoverage, SamplesAgreeWithTheCpu) {
  int compared = sweep([](const auto& name) { return find_shape_rule(name) != nullptr; },
                       [](const auto& op, Stack& stack) { find_shape_rule(op.operator_name())(stack); });
  RecordProperty("compared", compared);
  EXPECT_GE(compared, 2000);
}

/// Ops without a rule must get their shape from their own kernel on meta tensors.
TEST(ShapeRuleCoverage, SamplesWithoutRuleRunOnMeta) {
  int compared =
      sweep([](const auto& name) { return !find_shape_rule(name) && !has_data_dependent_shape(name); },
            [](const auto& op, Stack& stack) {
              for (size_t i = 0; i < stack.size(); ++i) {
                if (op.schema().arguments()[i].name() == "device") stack[i] = at::Device(at::kMeta);
              }
              op.callBoxed(&stack);
            });
  RecordProperty("compared", compared);
  EXPECT_GE(compared, 2000);
}

}  // namespace
}  // namespace antegrad::capture::check
