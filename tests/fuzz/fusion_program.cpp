#include "fuzz/fusion_program.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>

#include "fuzz/fusion_op.h"
#include "support/rounding.h"

namespace antegrad::fuzz {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;  ///< larger results would only cost memory

using at::Tensor;

Tensor widened(const Tensor& tensor) { return is_floating(tensor) ? tensor.to(at::kDouble) : tensor; }

/// Makes double the default dtype, which LibTorch converts integers to where it needs floating point.
class WideDefault {
 public:
  WideDefault() { at::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
  ~WideDefault() { at::set_default_dtype(before_); }

 private:
  const caffe2::TypeMeta before_ = at::get_default_dtype();
};

/// Bounds what products and quotients lose where numbers of the type, or of a narrower one, become subnormal.
double lost_near_zero(at::ScalarType dtype) { return dtype == at::kHalf ? 1e-7 : 1e-42; }

Tensors operands(const FusionStep& step, const std::vector<Computed>& variables, Tensor Computed::*world) {
  Tensors args;
  for (const int arg : step.args) args.push_back(variables[static_cast<size_t>(arg)].*world);
  return args;
}

Tensor shaken(const Tensor& tensor, double by, Rng& shaker) {
  auto generator = at::detail::createCPUGenerator(shaker.bits());
  const auto noise = at::randint(0, 2, tensor.sizes(), generator, at::kDouble).mul_(2).sub_(1).mul_(by);
  return at::where(at::isfinite(tensor), tensor * (1 + noise), tensor);
}

/// Bounds the relative rounding error of a few ops in a row and of adding many numbers one by one.
double rounding_of(const FusionStep& step, const std::vector<Computed>& variables, const Tensor& result) {
  double terms = 0;
  for (const int arg : step.args)
    terms = std::max(terms, static_cast<double>(variables[static_cast<size_t>(arg)].eager.numel()));
  terms /= static_cast<double>(std::max<int64_t>(result.numel(), 1));
  return test::epsilon_of(result.scalar_type()) * (4 + std::sqrt(terms) / 4);
}

/// Treats doubles that are not representable as float as rounded: inputs never hold such numbers.
bool is_exact(const Tensor& eager, const Tensor& wide) {
  const auto narrow = eager.scalar_type() == at::kDouble ? eager.to(at::kFloat) : eager;
  return at::allclose(narrow.to(at::kDouble), wide, 0, 0, /*equal_nan=*/true);
}

double largest(const Tensor& tensor) {
  const auto wide = tensor.to(at::kDouble).abs();
  return at::where(at::isfinite(wide), wide, 0.0).max().item<double>();
}

bool used_later(const FusionProgram& program, int variable) {
  for (const auto& step : program.steps)
    if (std::find(step.args.begin(), step.args.end(), variable) != step.args.end()) return true;
  return false;
}

}  // namespace

Computed compute(const FusionStep& step, const std::vector<Computed>& variables, Rng& shaker) {
  if (step.op == nullptr) return {step.input, widened(step.input), widened(step.input)};
  Computed out;
  out.eager = step.op->apply(operands(step, variables, &Computed::eager), step);
  TORCH_CHECK(out.eager.numel() <= kMostElements, "a result of ", out.eager.numel(), " elements");
  const WideDefault wide_default;
  out.wide = step.op->apply(operands(step, variables, &Computed::wide), step);
  out.shaken = out.wide;
  for (const int arg : step.args) out.exact = out.exact && variables[static_cast<size_t>(arg)].exact;
  if (!is_floating(out.eager)) return out;
  out.exact =
      out.exact && !step.op->rounds && out.eager.sizes() == out.wide.sizes() && is_exact(out.eager, out.wide);
  const auto error = rounding_of(step, variables, out.eager);
  auto args = operands(step, variables, &Computed::shaken);
  for (auto& arg : args)  // for losses inside the op, such as cancellation in a sum
    if (is_floating(arg) && !step.op->jumps) arg = shaken(arg, error, shaker);
  const auto moved = shaken(step.op->apply(args, step), error, shaker);
  out.lost = moved.numel() == 0 ? 0 : largest(moved - out.wide);
  if (!out.exact) out.shaken = moved;
  return out;
}

std::vector<Computed> compute_all(const FusionProgram& program) {
  Rng shaker(program.seed + 1);
  std::vector<Computed> variables;
  for (const auto& step : program.steps) variables.push_back(compute(step, variables, shaker));
  return variables;
}

double error_bound(const Computed& value) {
  if (value.eager.numel() == 0 || !is_floating(value.eager)) return 0;
  const auto dtype = value.eager.scalar_type();
  const auto seen = largest(value.eager.to(at::kDouble) - value.wide) + value.lost;
  return 4 * (seen + test::epsilon_of(dtype) * largest(value.wide) + lost_near_zero(dtype));
}

Tensors inputs_of(const FusionProgram& program) {
  Tensors inputs;
  for (const auto& step : program.steps)
    if (step.op == nullptr) inputs.push_back(step.input);
  return inputs;
}

Tensors run(const FusionProgram& program, const Tensors& inputs) {
  Tensors variables, outputs;
  size_t next = 0;
  for (const auto& step : program.steps) {
    Tensors args;
    for (const int arg : step.args) args.push_back(variables[static_cast<size_t>(arg)]);
    variables.push_back(step.op == nullptr ? inputs[next++] : step.op->apply(args, step));
  }
  for (const int output : program.outputs) outputs.push_back(variables[static_cast<size_t>(output)]);
  return outputs;
}

FusionProgram generate_fusion(uint64_t seed, bool hard) {
  FusionScope scope(seed);
  auto& rng = scope.rng();
  auto& program = scope.program();
  for (auto inputs = rng.range(1, 3); inputs > 0; --inputs) scope.add_input();
  const auto wanted = rng.range(2, 14);
  for (int64_t tries = 0, steps = 0; steps < wanted && tries < 10 * wanted; ++tries) {
    const auto variables = program.steps.size();
    const auto& theme = hard && rng.percent(30) ? fusion_hard_ops() : *rng.pick(fusion_themes());
    const auto& op = rng.pick(theme);
    FusionStep step;
    step.op = &op;
    if (op.propose(scope, step) && scope.try_add(std::move(step)))
      ++steps;
    else
      scope.shrink_to(variables);
  }
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (program.steps[i].op != nullptr && (!used_later(program, static_cast<int>(i)) || rng.percent(10)))
      program.outputs.push_back(static_cast<int>(i));
  return without_dead_steps(program);
}

const std::vector<const FusionTheme*>& fusion_themes() {
  static const std::vector<const FusionTheme*> themes = [] {
    std::vector<const FusionTheme*> all;
    const auto add = [&](size_t times, const FusionTheme& theme) { all.insert(all.end(), times, &theme); };
    add(5, fusion_unary_ops());
    add(6, fusion_binary_ops());
    add(3, fusion_other_pointwise_ops());
    add(4, fusion_views());
    add(3, fusion_reductions());
    add(2, fusion_norms());
    add(1, fusion_indexing());
    return all;
  }();
  return themes;
}

FusionProgram without_dead_steps(const FusionProgram& program) {
  std::vector<bool> needed(program.steps.size(), false);
  for (const int output : program.outputs) needed[static_cast<size_t>(output)] = true;
  for (size_t i = program.steps.size(); i-- > 0;)
    if (needed[i])
      for (const int arg : program.steps[i].args) needed[static_cast<size_t>(arg)] = true;
  FusionProgram out;
  out.seed = program.seed;
  std::vector<int> renamed(program.steps.size(), -1);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (!needed[i]) continue;
    renamed[i] = static_cast<int>(out.steps.size());
    auto step = program.steps[i];
    for (int& arg : step.args) arg = renamed[static_cast<size_t>(arg)];
    out.steps.push_back(std::move(step));
  }
  for (const int output : program.outputs) out.outputs.push_back(renamed[static_cast<size_t>(output)]);
  return out;
}

std::string to_string(const FusionProgram& program) {
  const auto values = compute_all(program);
  std::string text = c10::str("seed ", program.seed, "\n");
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& step = program.steps[i];
    const auto& value = values[i].eager;
    text += c10::str("  v", i, ": ", c10::toString(value.scalar_type()), value.sizes(), " strides ",
                     value.strides());
    if (step.op != nullptr) text += c10::str(" = ", step.op->name, "(");
    for (const int arg : step.args) text += c10::str("v", arg, " ");
    for (const auto number : step.ints) text += c10::str(number, " ");
    for (const auto number : step.numbers) text += c10::str(number, "f ");
    text += step.op != nullptr ? ")\n" : "\n";
  }
  text += "  return";
  for (const int output : program.outputs) text += c10::str(" v", output);
  return text + "\n";
}

}  // namespace antegrad::fuzz
