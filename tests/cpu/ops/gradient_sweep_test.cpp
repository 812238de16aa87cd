// Every differentiable call of the sample tables, eager and compiled: results, gradients and second
// derivatives are the same (closeness.h), and what eager cannot differentiate the compiled function refuses
// at the same stage with the same message.
#include <antegrad/antegrad.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cpu/ops/gradient_difference.h"
#include "cpu/ops/gradient_names.h"
#include "samples/tensor_text.h"

namespace antegrad::test {
namespace {

Options sweep_options() {
  Options options;
  options.verify = true;
  options.rng = Rng::Eager;
  return options;
}

struct Checked {
  Stages eager;
  Differences found;
  bool compared = false;  ///< whether gradients were compared
};

Checked check(const GradientCase& call, Wanted wanted) {
  const Again run_eager = [&] { return differentiate(call.function, differentiable_inputs(call, wanted)); };
  auto eager = run_eager();
  auto function = compile(call.function, sweep_options());
  const auto compiled = differentiate(function, differentiable_inputs(call, wanted));
  auto found = differences(eager, compiled, run_eager);
  const bool compared =
      eager.differentiable && eager.reached(Stage::Backward) && compiled.reached(Stage::Backward);
  return {std::move(eager), std::move(found), compared};
}

const Exception* exception_for(const std::string& op, Differs how) {
  for (const auto& exception : kExceptions)
    if (exception.how == how && exception.op == stem_of(op)) return &exception;
  return nullptr;
}

/// For each op, its first difference that is not an exception.
using Wrong = std::map<std::string, std::string>;

/// All calls, swept once for all tests of this file.
struct Sweep {
  Wrong wrong;
  std::set<const Exception*> used;
  std::set<std::string> once, twice;  ///< ops whose first and second derivatives were compared
  size_t calls = 0;

  Sweep() {
    for (const auto& call : gradient_cases(7)) add(call);
  }

  /// Where eager cannot differentiate with respect to all inputs, compiled must refuse too, and fewer inputs
  /// are tried.
  void add(const GradientCase& call) {
    for (auto wanted : {Wanted::All, Wanted::NotWritten, Wanted::First}) {
      const auto checked = check(call, wanted);
      add(call.op, checked);
      if (checked.eager.reached(Stage::Backward)) break;
    }
  }

  void add(const std::string& op, const Checked& checked) {
    for (const auto& difference : checked.found) {
      if (const auto* exception = exception_for(op, difference.how))
        used.insert(exception);
      else
        wrong.emplace(op, difference.text);
    }
    if (!checked.compared) return;
    ++calls;
    once.insert(op);
    if (!checked.eager.second.empty()) twice.insert(op);
  }
};

const Sweep& sweep() {
  static const Sweep result;
  return result;
}

void expect_none(const Wrong& wrong) {
  for (const auto& [op, what] : wrong) ADD_FAILURE() << op << ": " << what;
}

class GradientSweep : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }  // one order of summation
};

const Plan kFirstOrder{.last = Stage::Backward};

// OPS-01
TEST_F(GradientSweep, FirstAndSecondDerivativesEqualEager) {
  expect_none(sweep().wrong);
  RecordProperty("calls", static_cast<int>(sweep().calls));
  EXPECT_GE(sweep().calls, 3000u);
  EXPECT_GE(sweep().once.size(), 900u);
  EXPECT_GE(sweep().twice.size(), 800u);
}

TEST_F(GradientSweep, ExceptionsAreNeeded) {
  if (!runs_libtorch_kernels()) GTEST_SKIP() << "what only rounds is not looked at";
  for (const auto& exception : kExceptions)
    EXPECT_TRUE(exception.how == Differs::Rounding ||  // another processor may round alike
                sweep().used.contains(&exception))
        << exception.op << " no longer differs (" << static_cast<int>(exception.how) << ")";
}

std::string not_swept(const std::string& name) {
  for (const auto& [op, why] : kOpsNotSwept)
    if (op == name || (op.ends_with('.') && name.starts_with(op))) return why;
  return "";
}

// OPS-01: which names of the op database the sweep reaches.
TEST_F(GradientSweep, ReachesTheOpDatabase) {
  std::set<std::string> reached;
  for (const auto& op : sweep().once) {
    const std::string plain = op.starts_with("aten::") ? op.substr(6, op.find('.') - 6) : op;
    reached.insert({plain, stem_of(plain)});
  }
  size_t count = 0;
  for (auto line : samples::split(kDifferentiableOps, '\n')) {
    for (auto entry : samples::split(line, ' ')) {
      const std::string name(entry.substr(0, entry.find('=')));
      const std::string sample =
          name.size() == entry.size() ? sample_name(name) : std::string(entry.substr(name.size() + 1));
      const bool found = reached.contains(sample) || reached.contains(name);
      EXPECT_NE(found, !not_swept(name).empty()) << name << (found ? " is swept" : " is not swept");
      count += found ? 1 : 0;
    }
  }
  RecordProperty("names", static_cast<int>(count));
  EXPECT_GE(count, 430u);
}

// OPS-04
TEST_F(GradientSweep, WhatIsCapturedHoldsForOtherData) {
  const auto cases = gradient_cases(7);
  const auto others = gradient_cases(8);
  Wrong wrong;
  size_t count = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& call = cases[i];
    const auto run = [&](const auto& function, const GradientCase& data) {
      return differentiate(function, differentiable_inputs(data, Wanted::All), kFirstOrder);
    };
    if (!run(call.function, call).reached(Stage::Backward)) continue;
    if (exception_for(call.op, Differs::RefusedFirst)) continue;
    auto function = compile(call.function, sweep_options());
    run(function, call);
    ++count;
    const Again run_eager = [&] { return run(call.function, others[i]); };
    for (const auto& difference : differences(run_eager(), run(function, others[i]), run_eager))
      if (!exception_for(call.op, difference.how)) wrong.emplace(call.op, difference.text);
    if (function.report().captures != 1) wrong.emplace(call.op, "was captured again");
  }
  expect_none(wrong);
  EXPECT_GE(count, 3000u);
}

// With generated code, all calls would take minutes.
TEST_F(GradientSweep, FirstDerivativesOfOneCallOfEveryOp) {
  if (runs_libtorch_kernels()) GTEST_SKIP() << "all calls are swept";
  std::set<std::string> seen;
  Wrong wrong;
  for (const auto& call : gradient_cases(7)) {
    if (seen.contains(call.op)) continue;
    const auto run = [&](const auto& function) {
      return differentiate(function, differentiable_inputs(call, Wanted::All), kFirstOrder);
    };
    const Again run_eager = [&] { return run(call.function); };
    const auto eager = run_eager();
    if (!eager.differentiable || !eager.reached(Stage::Backward)) continue;
    seen.insert(call.op);
    for (const auto& difference : differences(eager, run(compile(call.function, sweep_options())), run_eager))
      if (!exception_for(call.op, difference.how)) wrong.emplace(call.op, difference.text);
  }
  expect_none(wrong);
  EXPECT_GE(seen.size(), 900u);
}

/// Compares first derivatives with respect to the first input only.
Wrong compare_all(const Options& options, const Plan& plan, const std::set<Differs>& allowed) {
  Wrong wrong;
  for (const auto& call : gradient_cases(7)) {
    const auto run = [&](const auto& function) {
      return differentiate(function, differentiable_inputs(call, Wanted::First), plan);
    };
    const Again run_eager = [&] { return run(call.function); };
    for (const auto& difference : differences(run_eager(), run(compile(call.function, options)), run_eager))
      if (!allowed.contains(difference.how) && !exception_for(call.op, difference.how))
        wrong.emplace(call.op, difference.text);
  }
  return wrong;
}

Wrong compare_all(const Policy& policy) {
  auto options = sweep_options();
  options.policy = policy;
  return compare_all(options, kFirstOrder, {});
}

TEST_F(GradientSweep, SavingEverythingChangesNothing) { expect_none(compare_all(SaveAll{})); }

TEST_F(GradientSweep, ComputingEverythingAgainChangesNothing) { expect_none(compare_all(RecomputeAll{})); }

/// Tangents are copied to the layout that the backward graph was captured for, while the rounding of eager's
/// kernels depends on the layout. Some kernels refuse such tangents.
TEST_F(GradientSweep, TangentsMayHaveAnyLayout) {
  Plan plan = kFirstOrder;
  plan.expanded_tangents = true;
  expect_none(compare_all(sweep_options(), plan, {Differs::Rounding, Differs::Layout, Differs::NotRefused}));
}

}  // namespace
}  // namespace antegrad::test
