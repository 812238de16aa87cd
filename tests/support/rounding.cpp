#include "support/closeness.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/MemoryOverlap.h>
#include <antegrad/grad.h>

#include <cmath>
#include <iomanip>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "support/device.h"
#include "support/intercept.h"

namespace antegrad::test {

namespace {

using at::Tensor;

using Chance = at::Generator;  // LibTorch's generator, because this file is compiled without optimisation

/// The largest movement of this many runs is the bound: in a single run some elements move little by chance,
/// and half of the jumps are missed.
constexpr int kRuns = 8;
/// Perturbations of this many roundings stand out from the rounding of the perturbed run itself, and are what
/// a correct result may be off by.
constexpr double kAllowed = 16;
/// Half types have too few digits for that.
double strength_of(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16 ? 2 : kAllowed; }

std::set<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// Ops whose results are copied from their operands, or are integers: nothing is rounded.
bool moves_numbers(const std::string& qualified) {
  auto name = qualified.substr(qualified.find("::") + 2);
  if (name.ends_with('_') && !name.starts_with("__")) name.pop_back();
  static const std::set<std::string> names = words(
      "abs alias amax amin arange argmax argmin bernoulli broadcast_tensors bucketize cat ceil "
      "chunk clamp clamp_max clamp_min clip clone column_stack concat constant_pad_nd contiguous "
      "copy copysign cummax cummin detach diag_embed dropout embedding empty empty_like "
      "expand_copy eye fill flatten flip floor floor_divide fmax fmin full full_like gather "
      "hardtanh heaviside hstack index index_copy index_fill index_put index_select kthvalue "
      "masked_fill masked_scatter masked_select max max_pool1d max_pool2d max_pool3d maximum "
      "median min minimum mode nan_to_num neg negative new_empty new_full new_ones new_zeros "
      "nonzero one_hot ones ones_like pad permute_copy positive rand rand_like randint randn "
      "randn_like randperm reflection_pad1d reflection_pad2d relu relu6 repeat repeat_interleave "
      "replication_pad1d replication_pad2d reshape reshape_copy resolve_conj resolve_neg roll "
      "rot90 round scalar_tensor scatter searchsorted select_scatter sgn sign slice_scatter sort "
      "stack take take_along_dim threshold threshold_backward tile topk tril triu trunc unique "
      "view_copy vstack where zero zeros zeros_like ");
  return names.contains(name);
}

bool makes_views(const c10::FunctionSchema& schema) {
  for (const auto* list : {&schema.arguments(), &schema.returns()})
    for (const auto& argument : *list)
      if (argument.alias_info() != nullptr && !argument.alias_info()->isWrite()) return true;
  return false;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool can_be_off(const c10::IValue& value) {
  if (!value.isTensor()) return false;
  const Tensor& t = value.toTensor();
  return t.defined() && t.layout() == at::kStrided && t.numel() > 0 && epsilon_of(t.scalar_type()) > 0 &&
         !t._is_zerotensor() && t.device().is_cpu();
}

Tensor off(const Tensor& tensor, double roundings, Chance& chance) {
  const auto type = tensor.scalar_type();
  const auto most = epsilon_of(type) * roundings;
  const Tensor noise = at::empty(tensor.sizes(), at::kDouble).uniform_(1 - most, 1 + most, chance);
  const auto real = c10::toRealValueType(type);
  return tensor.mul(noise.to(real)).to(type);
}

/// Sums of many numbers round at every step.
double steps_of(const torch::jit::Stack& given, int64_t results) {
  int64_t most = 1;
  for (const auto& value : given)
    if (value.isTensor() && value.toTensor().defined()) most = std::max(most, value.toTensor().numel());
  if (results == 0) return 1;
  return 1 + std::sqrt(static_cast<double>(most) / static_cast<double>(std::max<int64_t>(results, 1))) / 4;
}

/// Perturbs written tensors without bumping their version: saved tensors may be perturbed too.
void disturb_written(const c10::FunctionSchema& schema, const torch::jit::Stack& given, Chance& chance) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!is_written(schema.arguments()[i]) || !can_be_off(given[i])) continue;
    const Tensor t = given[i].toTensor().variable_data();
    if (at::has_internal_overlap(t) == at::MemOverlap::No)
      t.copy_(off(t, strength_of(t.scalar_type()), chance));
  }
}

bool computes_floats(const torch::jit::Stack& stack, size_t returns) {
  for (size_t i = stack.size() - returns; i < stack.size(); ++i)
    if (can_be_off(stack[i])) return true;
  return false;
}

/// Perturbs the operands that the op reads, not those that it writes.
torch::jit::Stack disturbed(const c10::FunctionSchema& schema, const torch::jit::Stack& given,
                            int64_t results, Chance& chance) {
  const auto steps = steps_of(given, results);
  torch::jit::Stack out = given;
  for (size_t i = 0; i < given.size(); ++i)
    if (!is_written(schema.arguments()[i]) && can_be_off(given[i])) {
      const Tensor& t = given[i].toTensor();
      out[i] = off(t, strength_of(t.scalar_type()) * steps, chance);
    }
  return out;
}

/// LibTorch adds up the statistics of a channel one by one. Their error, which is larger than that of other
/// sums, moves all results of the channel alike.
void shift_channels(const Tensor& normalized, Chance& chance) {
  if (!can_be_off(normalized) || normalized.dim() < 2) return;
  std::vector<int64_t> sizes(static_cast<size_t>(normalized.dim()), 1);
  sizes[1] = normalized.size(1);
  const auto most = 4 * strength_of(normalized.scalar_type()) * epsilon_of(normalized.scalar_type());
  normalized.variable_data().add_(at::empty(sizes, at::kDouble).uniform_(-most, most, chance));
}

void disturb(const c10::OperatorHandle& op, torch::jit::Stack* stack, Chance& chance) {
  const auto& schema = op.schema();
  const auto returns = static_cast<int64_t>(schema.returns().size());
  if (makes_views(schema) || moves_numbers(schema.name())) return op.callBoxed(stack);
  const torch::jit::Stack given(stack->end() - static_cast<int64_t>(schema.arguments().size()), stack->end());
  if (schema.is_mutable()) {
    stack->resize(stack->size() - given.size());
    for (auto& value : disturbed(schema, given, 0, chance)) stack->push_back(std::move(value));
    op.callBoxed(stack);
    return disturb_written(schema, given, chance);
  }
  op.callBoxed(stack);
  if (!computes_floats(*stack, static_cast<size_t>(returns))) return;  // such as a comparison
  const auto results = stack->back().isTensor() ? stack->back().toTensor().numel() : 0;
  stack->resize(stack->size() - static_cast<size_t>(returns));
  for (auto& value : disturbed(schema, given, results, chance)) stack->push_back(std::move(value));
  op.callBoxed(stack);
  if (schema.name().find("batch_norm") != std::string::npos)
    shift_channels((stack->end() - returns)->toTensor(), chance);
  for (auto value = stack->end() - returns; value != stack->end(); ++value)
    if (can_be_off(*value))
      *value = off(value->toTensor(), strength_of(value->toTensor().scalar_type()), chance);
}

/// Zero tensors of autograd have no memory.
Tensor wide(const Tensor& tensor) {
  const Tensor t = tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options()) : tensor.detach();
  return t.cpu().to(t.is_complex() ? at::kComplexDouble : at::kDouble);
}

Tensor movement(const Tensor& expected, const Tensor& moved) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (moved.sizes() != expected.sizes()) return at::full(expected.sizes(), kInfinity, at::kDouble);
  const Tensor a = wide(expected), b = wide(moved);
  const Tensor same = at::eq(a, b).logical_or(at::isnan(a).logical_and(at::isnan(b)));
  return at::where(same, 0.0, at::nan_to_num((a - b).abs(), kInfinity, kInfinity));
}

}  // namespace

class OtherRoundings::Disturber final : public Interceptor {
 public:
  explicit Disturber(uint64_t seed) : chance_(at::detail::createCPUGenerator(seed)) {}
  void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) override { disturb(op, stack, chance_); }

 private:
  Chance chance_;
  Interception here_{this};
  /// A compiled backward pass runs kernels instead of ops, and nothing in it would be perturbed.
  CompiledAutograd by_engine_{false};
};

double epsilon_of(at::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case at::kDouble:
      return std::ldexp(1, -52);
    case at::kFloat:
      return std::ldexp(1, -23);
    case at::kHalf:
      return std::ldexp(1, -10);
    case at::kBFloat16:
      return std::ldexp(1, -7);
    default:
      return 0;
  }
}

double smallest_of(at::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case at::kDouble:
      return std::numeric_limits<double>::denorm_min();
    case at::kHalf:
      return std::ldexp(1, -24);
    case at::kBFloat16:
      return std::ldexp(1, -133);
    default:
      return std::numeric_limits<float>::denorm_min();
  }
}

OtherRoundings::OtherRoundings(uint64_t seed) : disturber_(std::make_unique<Disturber>(seed)) {}
OtherRoundings::~OtherRoundings() = default;

namespace {

/// Returns the results of several runs of `run` with perturbed roundings.
template <class Run>
auto repetitions(const Run& run) {
  const OnCpu on_cpu;
  std::vector<decltype(run())> all;
  for (int i = 0; i < kRuns; ++i) {
    const OtherRoundings others(static_cast<uint64_t>(i) + 1);
    all.push_back(run());
  }
  return all;
}

Tensor largest_movement(const Tensor& expected, const Tensors& moved) {
  const at::NoGradGuard no_grad;
  Tensor most = at::zeros(expected.sizes(), at::kDouble);
  for (const Tensor& t : moved) most = at::maximum(most, movement(expected, t));
  // What is measured is the error of the CPU's kernels. On another device eager has an error of its own, on
  // top of that of the compiled function: a layer norm's mean of numbers about 100 was one rounding off
  // there.
  const double sides = device().is_cpu() ? 1 : 2;
  return most.mul_(sides * kAllowed / strength_of(expected.scalar_type()));
}

}  // namespace

Tensors roundings(const std::function<Tensors()>& eager, const Tensors& expected) {
  const auto repeated = repetitions(eager);
  Tensors most;
  for (size_t i = 0; i < expected.size(); ++i) {
    Tensors moved;
    for (const Tensors& run : repeated)
      if (i < run.size() && run[i].defined()) moved.push_back(run[i]);
    most.push_back(expected[i].defined() ? largest_movement(expected[i], moved) : Tensor());
  }
  return most;
}

namespace {
/// Autograd returns tensors of zeros that have no memory.
Tensor with_memory(const Tensor& t) {
  return t._is_zerotensor() ? at::zeros(t.sizes(), at::device(at::kCPU).dtype(t.scalar_type()))
                            : t.contiguous().cpu();
}
}  // namespace

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto x = with_memory(a), y = with_memory(b);
  return x.nbytes() == y.nbytes() &&
         (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0);
}

Tensor wrong_elements(const Tensor& eager, const Tensor& compiled, double rounding, const Tensor& allowed) {
  const at::NoGradGuard no_grad;
  const Tensor a = wide(eager), b = wide(compiled);
  const Tensor same = at::eq(a, b).logical_or(at::isnan(a).logical_and(at::isnan(b)));
  if (epsilon_of(eager.scalar_type()) == 0) return same.logical_not();
  Tensor bound = a.abs().mul(rounding).add(16 * smallest_of(eager.scalar_type()));
  if (allowed.defined()) bound = bound.add(allowed);
  // An infinite bound, of an infinite number, makes nothing close; a number may become NaN or infinite only
  // where `allowed` is infinite.
  Tensor close = at::le((a - b).abs(), bound).logical_and(at::isfinite(a)).logical_and(at::isfinite(b));
  if (allowed.defined()) close = close.logical_or(at::isinf(allowed));
  return same.logical_or(close).logical_not();
}

std::string describe_wrong(const Tensor& wrong, const Tensor& eager, const Tensor& compiled,
                           const Tensor& allowed) {
  const auto at = wrong.flatten().to(at::kInt).argmax().item<int64_t>();
  std::ostringstream text;
  const auto number = [at](const Tensor& t) { return wide(t).flatten()[at].item().toComplexDouble(); };
  const auto write = [&](const Tensor& t) {
    const auto z = number(t);
    text << z.real();
    if (t.is_complex()) text << " + " << z.imag() << "i";
  };
  text << std::setprecision(17) << "element " << at << " of " << wrong.numel() << " is ";
  write(eager);
  text << " in eager and ";
  write(compiled);
  text << " compiled";
  if (allowed.defined()) text << std::setprecision(3) << "; rounding moves it by " << number(allowed).real();
  if (const auto count = wrong.sum().item<int64_t>(); count > 1)
    text << " (and " << count - 1 << " more are wrong)";
  return text.str();
}

std::optional<std::string> Reference::difference(size_t index, const Tensor& compiled) {
  const Tensor& eager = values_.at(index);
  if (same_bits(eager.detach(), compiled.detach())) return std::nullopt;
  const auto rounding = rounding_of(eager.scalar_type());
  if (!wrong_elements(eager, compiled, rounding).any().item<bool>()) return std::nullopt;
  if (!allowed_) allowed_ = roundings(eager_, values_);
  const Tensor wrong = wrong_elements(eager, compiled, rounding, (*allowed_)[index]);
  if (!wrong.any().item<bool>()) return std::nullopt;
  return describe_wrong(wrong, eager, compiled, (*allowed_)[index]);
}

std::optional<std::string> Reference::difference(const Tensors& compiled) {
  const auto differ = [](const auto&... what) { return std::optional(c10::str(what...)); };
  if (values_.size() != compiled.size())
    return differ(values_.size(), " results in eager and ", compiled.size(), " compiled");
  for (size_t i = 0; i < compiled.size(); ++i) {
    const Tensor &a = values_[i], &b = compiled[i];
    if (a.defined() != b.defined()) return differ("result ", i, " is defined in one of the two only");
    if (!a.defined()) continue;
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes())
      return differ("result ", i, " is ", a.dtype(), a.sizes(), " in eager and ", b.dtype(), b.sizes(),
                    " compiled");
    if (const auto what = difference(i, b)) return differ("result ", i, ": ", *what);
  }
  return std::nullopt;
}

std::optional<std::string> Comparisons::difference(const Tensor& eager, const Tensor& compiled) {
  ++count_;
  if (!eager_check_) {
    seen_.push_back(eager.detach().clone());
    return std::nullopt;
  }
  const auto rounding = rounding_of(eager.scalar_type());
  Tensor wrong = wrong_elements(eager, compiled, rounding);
  if (!wrong.any().item<bool>()) return std::nullopt;
  const Tensor bound = epsilon_of(eager.scalar_type()) > 0 ? allowed(eager) : Tensor();
  if (bound.defined()) wrong = wrong_elements(eager, compiled, rounding, bound);
  if (!wrong.any().item<bool>()) return std::nullopt;
  return describe_wrong(wrong, eager, compiled, bound);
}

Tensor Comparisons::allowed(const Tensor& eager) {
  if (!repeated_)
    repeated_ = repetitions([&] {
      Comparisons repetition;
      eager_check_(repetition);
      return std::move(repetition.seen_);
    });
  Tensors moved;
  for (const Tensors& run : *repeated_)
    if (run.size() >= count_) moved.push_back(run[count_ - 1]);
  // Repetitions that ended earlier say nothing here: allow for the cancellation of numbers of about 1.
  if (moved.empty()) return at::full(eager.sizes(), rounding_of(eager.scalar_type()) / 2, at::kDouble);
  return largest_movement(eager, moved);
}

}  // namespace antegrad::test
