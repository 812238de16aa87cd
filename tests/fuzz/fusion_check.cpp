#include "fuzz/fusion_check.h"

#include <ATen/ATen.h>
#include <antegrad/antegrad.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <iomanip>

#include "fuzz/fusion_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;
using Difference = std::optional<std::string>;

std::string first_of(const Tensor& wrong, const Computed& expected, const Tensor& compiled, double bound) {
  const auto at = wrong.flatten().to(at::kInt).argmax().item<int64_t>();
  const auto number = [at](const Tensor& t) { return t.flatten()[at].to(at::kDouble).item<double>(); };
  return c10::str(std::setprecision(9), wrong.sum().item<int64_t>(), " of ", wrong.numel(),
                  " differ; element ", at, " is ", number(expected.eager), " in eager, ",
                  number(expected.wide), " in double precision and ", number(compiled),
                  " compiled; allowed: ", bound);
}

Difference value_difference(const Computed& expected, const Tensor& compiled) {
  if (compiled.numel() == 0) return std::nullopt;
  const auto same =
      at::eq(expected.eager, compiled).logical_or(at::isnan(expected.eager).logical_and(at::isnan(compiled)));
  const auto bound = error_bound(expected);
  auto wrong = same.logical_not();
  if (is_floating(compiled))
    wrong = wrong.logical_and(at::le(at::abs(compiled.to(at::kDouble) - expected.wide), bound).logical_not());
  if (!wrong.any().item<bool>()) return std::nullopt;
  return first_of(wrong, expected, compiled, bound);
}

Difference stride_difference(const Tensor& eager, const Tensor& compiled) {
  for (int64_t d = 0; d < eager.dim() && eager.numel() > 0; ++d)
    if (eager.size(d) != 1 && eager.stride(d) != compiled.stride(d))
      return c10::str("strides are ", eager.strides(), " in eager and ", compiled.strides(), " compiled");
  return std::nullopt;
}

Difference difference_of(const Computed& expected, const Tensor& compiled) {
  if (expected.eager.scalar_type() != compiled.scalar_type())
    return c10::str("dtype is ", expected.eager.scalar_type(), " in eager and ", compiled.scalar_type(),
                    " compiled");
  if (expected.eager.sizes() != compiled.sizes())
    return c10::str("sizes are ", expected.eager.sizes(), " in eager and ", compiled.sizes(), " compiled");
  if (auto difference = stride_difference(expected.eager, compiled)) return difference;
  return value_difference(expected, compiled);
}

/// `outputs` are those of one program.
Difference difference_of(const FusionProgram& program, const Tensors& outputs) {
  const auto values = compute_all(program);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (auto difference = difference_of(values[static_cast<size_t>(program.outputs[i])], outputs[i]))
      return c10::str("output ", i, " (v", program.outputs[i], "): ", *difference);
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

/// Each variable that is computed as the only output.
FusionProgram smallest_wrong_prefix(const FusionProgram& program, const Options& options) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].op == nullptr) continue;
    auto candidate = program;
    candidate.outputs = {static_cast<int>(i)};
    candidate = without_dead_steps(candidate);
    if (check_fusion(candidate, options)) return candidate;
  }
  return program;
}

/// Without an output, and with a computed variable as an input.
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

}  // namespace

std::vector<FusionFailure> check_fusions(const std::vector<FusionProgram>& programs, const Options& options) {
  Tensors inputs;
  for (const auto& program : programs)
    for (auto& input : inputs_of(program)) inputs.push_back(input);
  auto compiled = compile([&](const Tensors& tensors) { return run_all(programs, tensors); }, options);
  std::vector<FusionFailure> failures;
  Tensors outputs;
  try {
    compiled(inputs);
    outputs = compiled(inputs);
  } catch (const std::exception& error) {
    const std::string what =
        c10::str("the compiled function threw: ", std::string(error.what()).substr(0, 600));
    if (programs.size() == 1) return {{programs[0], what}};
    for (const auto& program : programs)
      if (auto difference = check_fusion(program, options)) failures.push_back({program, *difference});
    if (failures.empty()) failures.push_back({programs[0], what + "\nbut no program alone"});
    return failures;
  }
  size_t next = 0;
  for (const auto& program : programs) {
    const Tensors part(outputs.begin() + static_cast<int64_t>(next),
                       outputs.begin() + static_cast<int64_t>(next + program.outputs.size()));
    next += program.outputs.size();
    if (auto difference = difference_of(program, part)) failures.push_back({program, *difference});
  }
  return failures;
}

Difference check_fusion(const FusionProgram& program, const Options& options) {
  const auto failures = check_fusions({program}, options);
  return failures.empty() ? std::nullopt : Difference(failures[0].difference);
}

FusionProgram shrink_fusion(const FusionProgram& program, const Options& options) {
  auto small = smallest_wrong_prefix(program, options);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const auto& candidate : smaller_programs(small)) {
      if (!check_fusion(candidate, options)) continue;
      small = candidate;
      smaller = true;
      break;
    }
  }
  return small;
}

}  // namespace antegrad::fuzz
