#include <ATen/ATen.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using Themes = std::vector<const DynamicTheme*>;

Themes themes_of(Rng& rng) {
  Themes all;
  const auto add = [&](size_t times, const DynamicTheme& theme) { all.insert(all.end(), times, &theme); };
  add(5, dynamic_unary_ops());
  add(5, dynamic_binary_ops());
  add(2, dynamic_scalar_ops());
  add(4, dynamic_views());
  add(3, dynamic_parts());
  add(4, dynamic_reductions());
  add(3, dynamic_products());
  add(1, dynamic_factories());
  add(2, dynamic_indexing());
  if (rng.percent(30)) add(2, dynamic_writes());
  if (rng.percent(12)) add(2, dynamic_outer_writes());
  if (rng.percent(8)) add(2, dynamic_branches());
  return all;
}

bool used_later(const DynamicProgram& program, int variable) {
  for (const auto& step : program.steps)
    if (std::find(step.args.begin(), step.args.end(), variable) != step.args.end()) return true;
  return false;
}

void choose_outputs(DynamicScope& scope) {
  auto& program = scope.program();
  auto& rng = scope.rng();
  for (int v = 0; v < scope.variables(); ++v) {
    if (program.steps[static_cast<size_t>(v)].op == nullptr) continue;
    if (!used_later(program, v) || rng.percent(8)) program.outputs.push_back(v);
  }
  if (program.outputs.empty() || !rng.percent(35)) return;
  DynamicStep loss;
  loss.op = &dynamic_loss();
  loss.args = program.outputs;
  if (scope.try_add(std::move(loss))) program.outputs = {scope.variables() - 1};
}

/// Chooses the sizes of the calls, in order.
class Calls {
 public:
  explicit Calls(DynamicScope& scope) : scope_(scope), rng_(scope.rng()) {}

  std::vector<Assignment> choose() {
    begin();
    static const Ints kSmall{1, 2, 3}, kPowers{8, 16, 32}, kLarge{31, 47, 64, 70};
    add(with_one(usual(), 1));
    add(usual());
    add(with_one(usual(), 0));
    add(all_of(kSmall));
    add(with_one(usual(), rng_.pick(kPowers)));
    repeat();
    add(all_of({2, 3}));
    add(with_one(usual(), rng_.pick(kLarge)));
    add(Assignment(scope_.symbols(), rng_.percent(70) ? 1 : 0));
    add(Assignment(scope_.symbols(), scope_.multiple(0) * rng_.range(2, 5)));
    add(usual());
    repeat();
    add(usual());
    stream();
    return std::move(calls_);
  }

 private:
  /// The first two calls decide which sizes are symbols.
  void begin() {
    auto first = usual(), second = usual();
    for (size_t s = 0; s < first.size(); ++s)
      if (second[s] == first[s]) second[s] += scope_.multiple(s);
    if (rng_.percent(8)) first = with_one(first, rng_.below(3));
    if (rng_.percent(12) && first.size() > 1) second[0] = first[0];
    if (rng_.percent(12))
      for (auto* call : {&first, &second}) call->assign(call->size(), (*call)[0]);
    add(first);
    add(second);
  }

  /// Sizes that no call had before: after a few, a version is checked by its forward pass alone, and after
  /// many, they run uncompiled.
  void stream() {
    for (int64_t k = 0; k < 6; ++k) add_new(20 + 11 * k, 4);
    const int64_t more = rng_.percent(6) ? 28 : 0;
    for (int64_t k = 0; k < more; ++k) add_new(90 + 2 * k, 2);
    if (more > 0) repeat();
  }
  void add_new(int64_t from, int64_t spread) {
    Assignment values;
    for (size_t s = 0; s < scope_.symbols(); ++s)
      values.push_back(of_symbol(s, from + static_cast<int64_t>(s) * 4 + rng_.below(spread)));
    add(std::move(values));
  }

  int64_t of_symbol(size_t s, int64_t value) {
    const auto multiple = scope_.multiple(s);
    return multiple == 1 || rng_.percent(8) ? value : (value + multiple - 1) / multiple * multiple;
  }
  Assignment all_of(const Ints& values) {
    Assignment out;
    for (size_t s = 0; s < scope_.symbols(); ++s) out.push_back(of_symbol(s, rng_.pick(values)));
    return out;
  }
  Assignment usual() { return all_of({4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 19}); }
  Assignment with_one(Assignment values, int64_t value) {
    const auto s = static_cast<size_t>(rng_.below(static_cast<int64_t>(values.size())));
    values[s] = of_symbol(s, value);
    return values;
  }
  void add(Assignment values) { calls_.push_back(std::move(values)); }
  void repeat() { calls_.push_back(rng_.pick(std::vector<Assignment>(calls_))); }

  DynamicScope& scope_;
  Rng& rng_;
  std::vector<Assignment> calls_;
};

}  // namespace

DynamicProgram generate_dynamic(uint64_t seed) {
  DynamicScope scope(seed);
  auto& rng = scope.rng();
  auto& program = scope.program();
  const auto themes = themes_of(rng);
  for (auto inputs = rng.range(1, 3); inputs > 0; --inputs) scope.add_input();
  const auto wanted = rng.range(2, 11);
  for (int64_t tries = 0, steps = 0; steps < wanted && tries < 12 * wanted; ++tries) {
    const auto variables = program.steps.size();
    const auto& op = rng.pick(*rng.pick(themes));
    DynamicStep step;
    step.op = &op;
    if (op.propose(scope, step) && scope.try_add(std::move(step)))
      ++steps;
    else
      scope.shrink_to(variables);
  }
  choose_outputs(scope);
  program.second_order = rng.percent(12);
  program.calls = Calls(scope).choose();
  return without_dead_steps(program);
}

}  // namespace antegrad::fuzz
