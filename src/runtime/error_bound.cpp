#include "runtime/error_bound.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "aten/convert.h"
#include "runtime/executable.h"
#include "runtime/instructions.h"
#include "runtime/plan/error_rules.h"

namespace antegrad::runtime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How much a dtype rounds the numbers that are computed in it.
struct Rounding {
  double step = 0;     ///< relative, of arithmetic: half types are computed in f32
  double storing = 0;  ///< relative, of storing a result
  double least = 0;    ///< below it, numbers lose more digits, or become zero
  double largest = kInfinity;
};

Rounding rounding_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return {0x1p-52, 0, 0x1p-1022, std::numeric_limits<double>::max()};
    case at::kFloat:
      return {0x1p-23, 0, 0x1p-126, std::numeric_limits<float>::max()};
    case at::kHalf:
      return {0x1p-23, 0x1p-10, 0x1p-21, 65504};
    case at::kBFloat16:
      return {0x1p-23, 0x1p-7, 0x1p-126, 3.3895313892515355e38};
    default:
      break;
  }
  return at::isFloatingType(type) ? Rounding{0x1p-23, 0x1p-2, 0x1p-6, 400} : Rounding{};
}

bool is_number(const at::Tensor& tensor) {
  return tensor.defined() && at::isFloatingType(tensor.scalar_type());
}

/// Two implementations of a math function are each off by a few units in the last place, of argument and
/// result.
constexpr double kArgumentSteps = 4, kResultSteps = 8;

at::Tensor widened(const at::Tensor& tensor) { return is_number(tensor) ? tensor.to(at::kDouble) : tensor; }

/// 0 where both are equal, infinities and NaN included; infinite where only one is NaN.
at::Tensor distance(const at::Tensor& a, const at::Tensor& b) {
  const auto x = a.to(at::kDouble), y = b.to(at::kDouble);
  const auto same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
  const auto apart = (x - y).abs();
  return at::where(same, 0.0, at::where(apart.isnan(), kInfinity, apart));
}

/// Returns `contents` in memory laid out like the tensor, so that ops on layouts treat both alike.
at::Tensor laid_out_as(const at::Tensor& tensor, const at::Tensor& contents) {
  auto copy = empty_with_offset(tensor.sizes(), tensor.strides(), tensor.storage_offset(),
                                tensor.options().dtype(contents.scalar_type()));
  copy_memory(copy, contents.expand(tensor.sizes()));
  return copy;
}

at::Tensor bound_or_zeros(const Bounded& x) {
  return x.bound.defined() ? x.bound : at::zeros(x.value.sizes(), x.value.options().dtype(at::kDouble));
}

}  // namespace

struct BoundedGraph::Step {
  ErrorRule rule;
  bool rounds_nothing, coarse_near_zero;
  std::vector<ir::ValueId> reads, outputs;
  std::unique_ptr<Executable> wide;  ///< the node in f64, where it propagates errors
  at::Tensor constant;

  std::vector<at::Tensor> run_wide(const std::vector<at::Tensor>& arguments) const {
    std::vector<at::Tensor> results;
    wide->run(arguments, results);
    return results;
  }

  std::vector<at::Tensor> bounds(const std::vector<Bounded>& arguments,
                                 const std::vector<at::Tensor>& results) const;
  std::vector<at::Tensor> of_nothing_known(const std::vector<Bounded>& arguments,
                                           const std::vector<at::Tensor>& results) const;
  std::vector<at::Tensor> moved(const std::vector<Bounded>& arguments) const;
  at::Tensor added_up(const std::vector<Bounded>& arguments, const at::Tensor& result) const;
  at::Tensor multiplied(const Bounded& argument, const at::Tensor& result) const;
  at::Tensor compared(const std::vector<Bounded>& arguments) const;
  at::Tensor tried_out(const std::vector<Bounded>& arguments, const at::Tensor& result, size_t index) const;
  at::Tensor effect_of(const std::vector<at::Tensor>& arguments, const at::Tensor& plain, size_t which,
                       const at::Tensor& by, size_t index) const;
};

namespace {

bool has_bound(const Bounded& x) { return x.bound.defined(); }

bool any_bound(const std::vector<Bounded>& all) { return std::any_of(all.begin(), all.end(), has_bound); }

/// Makes a bound infinite where a result may or may not overflow.
at::Tensor widen_near_overflow(const at::Tensor& bound, const at::Tensor& exact, const at::Tensor& result) {
  const auto largest = rounding_of(result.scalar_type()).largest;
  const auto value = result.to(at::kDouble);
  const auto size = exact.to(at::kDouble).abs();
  const auto may_overflow = value.isfinite().logical_and((size + bound).ge(largest));
  const auto may_not = value.isinf().logical_and((size - bound).lt(largest)).logical_and(size.isfinite());
  return at::where(may_overflow.logical_or(may_not), kInfinity, bound);
}

}  // namespace

std::vector<at::Tensor> BoundedGraph::Step::bounds(const std::vector<Bounded>& arguments,
                                                   const std::vector<at::Tensor>& results) const {
  switch (rule) {
    case ErrorRule::Exact:
      return std::vector<at::Tensor>(results.size());
    case ErrorRule::Fresh:
      return of_nothing_known(arguments, results);
    case ErrorRule::Move:
    case ErrorRule::Largest:
    case ErrorRule::Any:
      return any_bound(arguments) ? moved(arguments) : std::vector<at::Tensor>(results.size());
    case ErrorRule::Sum:
    case ErrorRule::Accumulate:
      return {added_up(arguments, results.front())};
    case ErrorRule::Product:
      return {multiplied(arguments.front(), results.front())};
    case ErrorRule::Compare:
      return {compared(arguments)};
    case ErrorRule::Pointwise:
      break;
  }
  std::vector<at::Tensor> bounds(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].defined()) bounds[i] = tried_out(arguments, results[i], i);
  return bounds;
}

std::vector<at::Tensor> BoundedGraph::Step::of_nothing_known(const std::vector<Bounded>& arguments,
                                                             const std::vector<at::Tensor>& results) const {
  std::vector<at::Tensor> bounds;
  for (const auto& result : results) {
    if (!result.defined() || (!is_number(result) && !any_bound(arguments))) {
      bounds.emplace_back();
      continue;
    }
    const auto [step, storing, least, largest] = rounding_of(result.scalar_type());
    const auto size = result.to(at::kDouble).abs();
    bounds.push_back(any_bound(arguments) ? at::full_like(size, kInfinity)
                                          : size * (kResultSteps * step + storing) + least);
  }
  return bounds;
}

/// Moves bounds as the op moves elements. Infinite where indices are uncertain.
std::vector<at::Tensor> BoundedGraph::Step::moved(const std::vector<Bounded>& arguments) const {
  std::vector<at::Tensor> errors;
  bool uncertain = false;
  const bool booleans = rule == ErrorRule::Any;
  for (const auto& argument : arguments) {
    const bool is_data = is_number(argument.value) || &argument == &arguments.front();
    uncertain = uncertain || (!is_data && has_bound(argument));
    if (!is_data)
      errors.push_back(argument.value);
    else if (booleans)
      errors.push_back(bound_or_zeros(argument).gt(0));
    else
      errors.push_back(laid_out_as(argument.value, bound_or_zeros(argument)));
  }
  auto bounds = run_wide(errors);
  for (auto& bound : bounds)
    bound = uncertain ? at::full_like(bound, kInfinity, at::kDouble) : bound.to(at::kDouble);
  return bounds;
}

/// The rounding error of each partial sum is relative to at most the sum of magnitudes.
at::Tensor BoundedGraph::Step::added_up(const std::vector<Bounded>& arguments,
                                        const at::Tensor& result) const {
  std::vector<at::Tensor> magnitudes, errors;
  int64_t terms = 0;
  if (!is_number(result) && !any_bound(arguments)) return {};
  for (const auto& argument : arguments) {
    const bool is_data = is_number(argument.value) || &argument == &arguments.front();
    if (!is_data && has_bound(argument))
      return at::full(result.sizes(), kInfinity, result.options().dtype(at::kDouble));
    magnitudes.push_back(is_data ? argument.value.to(at::kDouble).abs() : argument.value);
    errors.push_back(is_data ? bound_or_zeros(argument) : argument.value);
    if (is_data) terms = std::max(terms, argument.value.numel());
  }
  if (rule == ErrorRule::Sum) terms /= std::max<int64_t>(1, result.numel());
  const auto [step, storing, least, largest] = rounding_of(result.scalar_type());
  const bool kept_between = rule == ErrorRule::Accumulate;  // each partial sum is rounded to the dtype
  const auto each = kept_between ? step + storing : step;
  const auto total = run_wide(magnitudes).front();
  const auto handed_on = run_wide(errors).front();
  const auto count = kResultSteps + 2 * std::sqrt(static_cast<double>(terms));
  const auto own = total * (count * each) + result.to(at::kDouble).abs() * storing + least;
  // Finite summands may overflow in another order, or not; what is not finite stays so.
  const auto not_finite = at::where(total.isfinite(), kInfinity, handed_on);
  return at::where(result.isfinite(), handed_on + own, not_finite);
}

at::Tensor BoundedGraph::Step::multiplied(const Bounded& argument, const at::Tensor& result) const {
  if (!is_number(result) && !has_bound(argument)) return {};
  const auto size = argument.value.to(at::kDouble).abs();
  const auto [step, storing, least, largest] = rounding_of(result.scalar_type());
  const auto product = run_wide({size}).front().to(at::kDouble);
  const auto more = run_wide({size + bound_or_zeros(argument)}).front().to(at::kDouble);
  const auto factors = argument.value.numel() / std::max<int64_t>(1, result.numel());
  const auto own = product * ((kResultSteps + static_cast<double>(factors)) * (step + storing)) + least;
  return widen_near_overflow(distance(more, product) + own, product, result);
}

/// Uncertain where the two are no farther apart than they may be off.
at::Tensor BoundedGraph::Step::compared(const std::vector<Bounded>& arguments) const {
  if (!any_bound(arguments)) return {};
  std::vector<at::Tensor> values;
  auto off = at::zeros({}, at::kDouble);
  for (const auto& argument : arguments) {
    values.push_back(argument.value.to(at::kDouble));
    off = off + bound_or_zeros(argument);
  }
  const auto apart = run_wide(values).front().abs();
  return apart.le(off).logical_or(off.isinf()).logical_and(off.gt(0)).to(at::kDouble);
}

/// Returns how far the result moves when one argument is moved, either way.
at::Tensor BoundedGraph::Step::effect_of(const std::vector<at::Tensor>& arguments, const at::Tensor& plain,
                                         size_t which, const at::Tensor& by, size_t index) const {
  const auto& argument = arguments[which];
  auto changed = arguments;
  if (argument.scalar_type() == at::kBool) {
    changed[which] = argument.logical_xor(by.gt(0));
    return distance(run_wide(changed)[index], plain);
  }
  const auto change = is_number(argument) ? by : by.clamp_max(1e18).to(argument.scalar_type());
  changed[which] = argument + change;
  const auto up = distance(run_wide(changed)[index], plain);
  changed[which] = argument - change;
  return at::maximum(up, distance(run_wide(changed)[index], plain));
}

at::Tensor BoundedGraph::Step::tried_out(const std::vector<Bounded>& arguments, const at::Tensor& result,
                                         size_t index) const {
  if (rounds_nothing && !any_bound(arguments)) return {};
  const auto [step, storing, least, largest] = rounding_of(result.scalar_type());
  std::vector<at::Tensor> values;
  for (const auto& argument : arguments) values.push_back(widened(argument.value));
  const auto plain = run_wide(values)[index];
  auto bound = at::zeros(result.sizes(), result.options().dtype(at::kDouble));
  for (size_t i = 0; i < values.size(); ++i) {
    auto by = bound_or_zeros(arguments[i]);
    const bool has_roundings = !rounds_nothing && is_number(values[i]);
    if (has_roundings) by = by + values[i].abs() * (kArgumentSteps * step);
    if (!has_roundings && !has_bound(arguments[i])) continue;
    auto effect = effect_of(values, plain, i, by, index);
    // f64 itself is too coarse to show changes of its last digits: take a longer step, and scale the effect.
    if (has_roundings && step < 0x1p-40) {
      const auto longer = at::maximum(by, values[i].abs() * 1e-8);
      const auto share = at::where(longer.gt(0), by / longer, 0.0);
      const auto far = effect_of(values, plain, i, longer, index);
      effect = at::maximum(effect, at::where(far.isinf(), effect, far * share));
    }
    // An infinite bound allows any argument, which no change of it can represent.
    if (!rounds_nothing) effect = at::where(by.to(at::kDouble).isinf(), kInfinity, effect);
    bound = bound + effect;
  }
  if (coarse_near_zero && storing > 0) bound = bound + kResultSteps * step;
  if (!rounds_nothing) bound = bound + result.to(at::kDouble).abs() * (kResultSteps * step + storing) + least;
  bound = at::where(result.isnan().logical_and(bound.isnan()), 0.0, bound);
  return is_number(result)
             ? widen_near_overflow(at::where(result.isinf(), at::where(bound.isnan(), 0.0, bound), bound),
                                   plain, result)
             : bound;
}

BoundedGraph::BoundedGraph(const ir::Graph& nodes) : value_count_(nodes.values.size()) {
  auto all = nodes;
  all.outputs.clear();
  for (const auto& input : nodes.inputs) inputs_.push_back(input.value);
  for (const auto& output : nodes.outputs) outputs_.push_back(output.value);
  for (const auto& node : nodes.nodes) {
    Step step{error_rule(node),
              rounds_nothing(node, nodes),
              is_coarse_near_zero(node),
              reads_of(node),
              node.outputs,
              nullptr,
              {}};
    if (step.rule != ErrorRule::Exact && step.rule != ErrorRule::Fresh)
      step.wide = std::make_unique<Executable>(error_graph(nodes, node));
    // A constant that leaves a graph is copied, and the copy would no longer be a wrapped number.
    const bool is_constant = node.op == "antegrad.constant";
    if (is_constant) {
      std::vector<at::Tensor> made;
      Executable(error_graph(nodes, node)).run(std::vector<at::Tensor>(), made);
      step.constant = made.front();
    }
    steps_.push_back(std::move(step));
    for (auto id : node.outputs) {
      if (is_constant) continue;
      kept_.push_back(id);
      all.outputs.push_back({id, ir::OutputRole::UserOutput, {}, -1});
    }
  }
  values_ = std::make_unique<Executable>(all);
}

BoundedGraph::~BoundedGraph() = default;

std::vector<Bounded> BoundedGraph::run(const std::vector<at::Tensor>& inputs) const {
  ir::PerValue<Bounded> known(value_count_);
  const auto at = [&](ir::ValueId id) -> Bounded& { return known[id]; };
  for (size_t i = 0; i < inputs.size(); ++i) at(inputs_[i]).value = inputs[i];
  std::vector<at::Tensor> values;
  values_->run(inputs, values);
  for (size_t i = 0; i < kept_.size(); ++i) at(kept_[i]).value = values[i];
  for (const auto& step : steps_) {
    if (step.constant.defined()) {
      at(step.outputs.front()).value = step.constant;
      continue;
    }
    std::vector<Bounded> arguments;
    std::vector<at::Tensor> results;
    for (auto id : step.reads) arguments.push_back(at(id));
    for (auto id : step.outputs) results.push_back(at(id).value);
    auto bounds = step.bounds(arguments, results);
    for (size_t i = 0; i < bounds.size(); ++i) at(step.outputs[i]).bound = bounds[i];
  }
  std::vector<Bounded> out;
  for (auto id : outputs_) out.push_back(at(id));
  return out;
}

int64_t first_out_of_bound(const Bounded& expected, const at::Tensor& actual) {
  if (!expected.value.defined() || expected.value.numel() == 0) return -1;
  if (expected.value.is_complex())
    return first_out_of_bound({at::view_as_real(expected.value.resolve_conj()), {}},
                              at::view_as_real(actual.resolve_conj()));
  at::Tensor outside;
  if (!expected.bound.defined())
    outside = is_number(expected.value) ? distance(actual, expected.value).gt(0) : expected.value.ne(actual);
  else  // both computations may be off, in opposite directions
    outside = distance(actual, expected.value).gt(2 * expected.bound);
  const auto flat = outside.reshape({-1});
  return flat.any().item<bool>() ? flat.to(at::kByte).argmax().item<int64_t>() : -1;
}

}  // namespace antegrad::runtime
