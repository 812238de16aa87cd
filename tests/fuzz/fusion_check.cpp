#include "fuzz/fusion_check.h"

#include <ATen/ATen.h>
#include <antegrad/antegrad.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <functional>
#include <set>

#include "fuzz/fusion_op.h"
#include "fuzz/script.h"
#include "fuzz/tangent.h"
#include "support/closeness.h"
#include "support/device.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Difference = std::optional<std::string>;

Difference stride_difference(const Tensor& eager, const Tensor& compiled) {
  for (int64_t d = 0; d < eager.dim() && eager.numel() > 0; ++d)
    if (eager.size(d) != 1 && eager.stride(d) != compiled.stride(d))
      return c10::str("strides are ", eager.strides(), " in eager and ", compiled.strides(), " compiled");
  return std::nullopt;
}

Difference form_difference(const Tensor& eager, const Tensor& compiled) {
  if (eager.defined() != compiled.defined())
    return c10::str("is defined only ", eager.defined() ? "in eager" : "compiled");
  if (!eager.defined()) return std::nullopt;
  if (eager.scalar_type() != compiled.scalar_type())
    return c10::str("dtype is ", eager.scalar_type(), " in eager and ", compiled.scalar_type(), " compiled");
  if (eager.sizes() != compiled.sizes())
    return c10::str("sizes are ", eager.sizes(), " in eager and ", compiled.sizes(), " compiled");
  return std::nullopt;
}

Tensors run_all(const std::vector<FusionProgram>& programs, const Tensors& inputs) {
  Tensors outputs;
  size_t next = 0;
  for (const auto& program : programs) {
    const auto count = inputs_of(program).size();
    const Tensors part(inputs.begin() + static_cast<int64_t>(next),
                       inputs.begin() + static_cast<int64_t>(next + count));
    next += count;
    for (auto& output : run(program, part)) outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Makes each computed variable in turn the only output, and returns the first program that fails.
FusionProgram smallest_wrong_prefix(const FusionProgram& program, const FusionWay& way) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].op == nullptr) continue;
    auto candidate = program;
    candidate.outputs = {static_cast<int>(i)};
    candidate = without_dead_steps(candidate);
    if (check_fusion(candidate, way)) return candidate;
  }
  return program;
}

/// Returns programs without one of the outputs, or with a computed variable turned into an input.
std::vector<FusionProgram> smaller_programs(const FusionProgram& program) {
  std::vector<FusionProgram> candidates;
  for (const int output : program.outputs) {
    if (program.outputs.size() == 1) break;
    auto candidate = program;
    std::erase(candidate.outputs, output);
    candidates.push_back(without_dead_steps(candidate));
  }
  const auto values = compute_all(program);
  for (size_t i = program.steps.size(); i-- > 0;) {
    if (program.steps[i].op == nullptr || std::ranges::count(program.outputs, static_cast<int>(i)) > 0)
      continue;
    auto candidate = program;
    candidate.steps[i] = {};
    candidate.steps[i].input = values[i].eager;
    candidates.push_back(without_dead_steps(candidate));
  }
  return candidates;
}

/// What one side computes: outputs, and the requested gradients.
struct Results {
  Tensors outputs, gradients;
};

using Function = std::function<Tensors(const Tensors&)>;

/// Derivatives of some outputs with respect to some inputs, one program at a time, as programs differ in what
/// can be differentiated. Requests none where eager cannot differentiate.
Tensors gradients_of(const FusionProgram& program, const Tensors& inputs, const Tensors& outputs) {
  const auto chosen = [&](size_t i) { return Rng(program.seed * 1000 + i).percent(60); };
  Tensors roots, tangents, targets;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].requires_grad() && chosen(i)) {
      roots.push_back(outputs[i]);
      tangents.push_back(make_tangent(outputs[i], Rng(program.seed * 100 + i)));
    }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].requires_grad() && chosen(i + 500)) targets.push_back(inputs[i]);
  if (roots.empty() || targets.empty()) return {};
  return scripted_grad(roots, targets, tangents, /*retain_graph=*/true, false, true);
}

class FusionDuel {
 public:
  FusionDuel(const std::vector<FusionProgram>& programs, const FusionWay& way)
      : programs_(programs), way_(way) {}

  std::vector<FusionFailure> check() {
    const at::AutoGradMode with_history(way_.gradients);
    const Function eager = [&](const Tensors& inputs) {
      script_call(inputs);
      auto outputs = run_all(programs_, inputs);
      script_results(outputs);
      return outputs;
    };
    try {
      expected_ = results_of(eager);
    } catch (
        const c10::Error&) {  // numbers that LibTorch's kernels for CUDA refuse, and those for the CPU do not
      if (!test::device().is_cuda()) throw;
      return programs_.size() == 1 ? std::vector<FusionFailure>() : each_alone();
    }
    const ScriptPause other_side;
    auto compiled =
        compile(Function([&](const Tensors& tensors) { return run_all(programs_, tensors); }), way_.options);
    std::vector<Results> actual;
    try {
      results_of(compiled);
      actual = results_of(compiled);
    } catch (const std::exception& error) {
      return failures_alone(
          c10::str("the compiled function threw: ", std::string(error.what()).substr(0, 600)));
    }
    std::vector<FusionFailure> failures;
    for (size_t p = 0; p < programs_.size(); ++p)
      if (auto difference = difference_of(p, actual[p])) failures.push_back({programs_[p], *difference});
    return failures;
  }

 private:
  std::vector<FusionFailure> each_alone() const {
    std::vector<FusionFailure> failures;
    for (const auto& program : programs_)
      if (auto difference = check_fusion(program, way_)) failures.push_back({program, *difference});
    return failures;
  }

  std::vector<FusionFailure> failures_alone(const std::string& what) const {
    if (programs_.size() == 1) return {{programs_[0], what}};
    auto failures = each_alone();
    if (failures.empty()) failures.push_back({programs_[0], what + "\nbut no program alone"});
    return failures;
  }

  Tensors inputs() const {
    Tensors all;
    for (const auto& program : programs_)
      for (const auto& input : inputs_of(program))
        all.push_back(way_.gradients && is_floating(input)
                          ? test::on_device(input).detach().requires_grad_(true)
                          : test::on_device(input));
    return all;
  }

  template <class F>
  std::vector<Results> results_of(const F& function) {
    const Tensors given = inputs();
    const Tensors outputs = function(given);
    std::vector<Results> results;
    size_t first_input = 0, first_output = 0;
    const auto part = [](const Tensors& all, size_t first, size_t count) {
      return Tensors(all.begin() + static_cast<int64_t>(first),
                     all.begin() + static_cast<int64_t>(first + count));
    };
    for (size_t p = 0; p < programs_.size(); ++p) {
      const auto& program = programs_[p];
      const Tensors mine = part(given, first_input, inputs_of(program).size());
      auto& result = results.emplace_back();
      result.outputs = part(outputs, first_output, program.outputs.size());
      first_input += mine.size();
      first_output += result.outputs.size();
      if (way_.gradients && differentiable(p)) try_gradients(p, mine, result);
    }
    return results;
  }

  bool differentiable(size_t p) const { return !impossible_.contains(p); }

  /// Eager comes first, and decides which programs have gradients.
  void try_gradients(size_t p, const Tensors& inputs, Results& result) {
    try {
      result.gradients = gradients_of(programs_[p], inputs, result.outputs);
    } catch (const c10::Error&) {
      if (!expected_.empty()) throw;
      impossible_.insert(p);
    }
  }

  Difference difference_of(size_t p, const Results& actual) const {
    const Results& eager = expected_[p];
    for (size_t i = 0; i < actual.outputs.size(); ++i) {
      if (auto difference = form_difference(eager.outputs[i], actual.outputs[i]))
        return c10::str("output ", i, ": ", *difference);
      if (auto difference = stride_difference(eager.outputs[i], actual.outputs[i]))
        return c10::str("output ", i, ": ", *difference);
    }
    for (size_t i = 0; i < actual.gradients.size(); ++i)
      if (auto difference = form_difference(eager.gradients[i], actual.gradients[i]))
        return c10::str("gradient ", i, ": ", *difference);
    return number_difference(p, actual);
  }

  /// Replaces elements that agree with double precision by eager's: they are right, also where eager's half
  /// precision overflowed.
  Tensor with_eager_where_right(size_t p, size_t output, const Tensor& compiled, const Tensor& eager) const {
    if (!is_floating(compiled) || test::up_to_relative_rounding(eager, compiled)) return compiled;
    const auto variables = compute_all(programs_[p]);
    const Tensor& wide = variables[static_cast<size_t>(programs_[p].outputs[output])].wide;
    const auto type = compiled.scalar_type();
    return at::where(test::wrong_elements(wide.to(type), compiled, test::rounding_of(type)), compiled, eager);
  }

  /// Brings results to the CPU, where the reference was computed, and replaces elements on which both sides
  /// agree: LibTorch's kernels for CUDA may differ from those for the CPU.
  static Tensor with_reference_where_as_eager(const Tensor& eager, const Tensor& compiled,
                                              const Tensor& reference) {
    const auto type = compiled.scalar_type();
    const auto wrong = test::wrong_elements(eager, compiled, test::rounding_of(type));
    return at::where(wrong, compiled.detach().cpu(), reference.detach());
  }

  Difference number_difference(size_t p, const Results& actual) const {
    const std::vector<FusionProgram> alone{programs_[p]};
    test::Reference reference([&] {
      const test::OnCpu on_cpu;
      const ScriptPause not_again;
      const at::AutoGradMode with_history(way_.gradients);
      FusionDuel eager(alone, way_);
      const auto results = eager.results_of([&](const Tensors& inputs) { return run_all(alone, inputs); });
      Tensors all = results[0].outputs;
      all.insert(all.end(), results[0].gradients.begin(), results[0].gradients.end());
      return all;
    });
    const at::NoGradGuard no_grad;
    const auto outputs = actual.outputs.size();
    for (size_t i = 0; i < outputs + actual.gradients.size(); ++i) {
      Tensor compiled = i < outputs ? actual.outputs[i] : actual.gradients[i - outputs];
      if (!compiled.defined()) continue;
      if (compiled.is_cuda()) {
        const auto& eager = i < outputs ? expected_[p].outputs[i] : expected_[p].gradients[i - outputs];
        compiled = with_reference_where_as_eager(eager, compiled, reference.values()[i]);
      }
      if (i < outputs) compiled = with_eager_where_right(p, i, compiled, reference.values()[i]);
      if (auto difference = reference.difference(i, compiled))
        return i < outputs ? c10::str("output ", i, " (v", programs_[p].outputs[i], "): ", *difference)
                           : c10::str("gradient ", i - outputs, ": ", *difference);
    }
    return std::nullopt;
  }

  const std::vector<FusionProgram>& programs_;
  const FusionWay& way_;
  std::vector<Results> expected_;
  std::set<size_t> impossible_;  ///< programs that eager cannot differentiate
};

}  // namespace

std::vector<FusionFailure> check_fusions(const std::vector<FusionProgram>& programs, const FusionWay& way) {
  return FusionDuel(programs, way).check();
}

Difference check_fusion(const FusionProgram& program, const FusionWay& way) {
  const auto failures = check_fusions({program}, way);
  return failures.empty() ? std::nullopt : Difference(failures[0].difference);
}

FusionProgram shrink_fusion(const FusionProgram& program, const FusionWay& way) {
  auto small = smallest_wrong_prefix(program, way);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto& candidate : smaller_programs(small)) {
      if (!check_fusion(candidate, way)) continue;
      small = candidate;
      smaller = true;
      break;
    }
  }
  return small;
}

}  // namespace antegrad::fuzz
