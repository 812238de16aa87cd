#include "compiler/function/version_guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace antegrad::compiler {
namespace {

symbolic::ShapeView view_of(const at::Tensor& tensor) {
  return {tensor.sizes().data(), tensor.strides().data(), tensor.sizes().size()};
}

bool has_plain_shape(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided && !tensor.is_nested();
}

VersionGuards::Lifted guard_lifted(const at::Tensor& tensor) {
  return {c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), runtime::TensorGuard(tensor)};
}

std::string number_text(int64_t value, bool real) {
  return real ? fmt::format("{}", std::bit_cast<double>(value)) : fmt::format("{}", value);
}

/// Makes guards ignore .grad where the function did not read it (it would have lifted it): training changes
/// .grad all the time, also between evaluations of a model. A function without a backward pass may be an
/// optimizer step that tests whether .grad is defined, so that remains guarded.
void ignore_unread_grads(VersionGuards& guards, const Leaves& leaves, const capture::Trace& traced) {
  auto is_read = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_leaf() || !tensor.grad().defined()) return false;
    const auto& grad = tensor.grad();
    auto is_grad = [&](const at::Tensor& other) { return other.is_same(grad); };
    return std::any_of(leaves.tensors.begin(), leaves.tensors.end(), is_grad) ||
           std::any_of(traced.lifted.begin(), traced.lifted.end(),
                       [&](const auto& lifted) { return is_grad(lifted.tensor); });
  };
  auto ignore = [&](const at::Tensor& tensor, runtime::TensorGuard& guard) {
    if (is_read(tensor)) return;
    if (traced.differentiable)
      guard.ignore_grad();
    else
      guard.ignore_grad_identity();
  };
  for (size_t i = 0; i < guards.arguments.size(); ++i) ignore(leaves.tensors[i], guards.arguments[i]);
  for (size_t k = 0; k < guards.lifted.size(); ++k) ignore(traced.lifted[k].tensor, guards.lifted[k].guard);
}

}  // namespace

symbolic::CallShapes shapes_of(c10::ArrayRef<at::Tensor> tensors) {
  symbolic::CallShapes call;
  for (const auto& tensor : tensors) {
    auto& shape = call.emplace_back();
    shape.defined = has_plain_shape(tensor);
    if (!shape.defined) continue;
    shape.sizes = tensor.sizes().vec();
    shape.strides = tensor.strides().vec();
  }
  return call;
}

VersionGuards guards_of_call(const Options& options, const Call& call) {
  VersionGuards guards;
  guards.key.assign(call.leaves.key.begin(), call.leaves.key.end());
  guards.ambient = call.ambient;
  for (const auto& tensor : call.leaves.tensors) guards.arguments.emplace_back(tensor);
  if (!options.watch.empty()) guards.modules = std::make_unique<ModuleState>(options.watch);
  return guards;
}

VersionGuards guards_of_attempt(const Options& options, const Call& call,
                                const std::vector<at::Tensor>& met) {
  auto guards = guards_of_call(options, call);
  for (const auto& tensor : met) guards.lifted.push_back(guard_lifted(tensor));
  for (auto& lifted : guards.lifted) lifted.guard.ignore_grad();
  return guards;
}

VersionGuards guards_of_capture(const Options& options, const Call& call, const Captured& captured,
                                const symbolic::Shapes& shapes) {
  auto guards = guards_of_call(options, call);
  if (shapes.dynamic()) {
    guards.shapes.emplace(shapes);
    for (auto& guard : guards.arguments) guard.ignore_shape();
  }
  for (const auto& shared : captured.bases) {
    guards.bases.push_back({shared, runtime::TensorGuard(captured.inputs[shared.base])});
    guards.bases.back().guard.ignore_grad();
  }
  for (const auto& lifted : captured.trace.lifted) {
    guards.lifted.push_back(guard_lifted(lifted.tensor));
    if (options.freeze && FrozenContents::can_watch(lifted.tensor))
      guards.lifted.back().contents.emplace(lifted.tensor);
  }
  ignore_unread_grads(guards, call.leaves, captured.trace);
  return guards;
}

bool VersionGuards::same_key(const Leaves& leaves) const {
  if (leaves.tensors.size() != arguments.size() || leaves.key.size() != key.size()) return false;
  const auto* begin = key.begin();
  for (auto place : free) {
    if (!std::equal(begin, key.begin() + place, leaves.key.begin() + (begin - key.begin()))) return false;
    begin = key.begin() + place + 1;
  }
  return std::equal(begin, key.end(), leaves.key.begin() + (begin - key.begin()));
}

bool VersionGuards::same_but_numbers(const Leaves& leaves, c10::SmallVector<uint32_t, 4>* differing) const {
  if (leaves.tensors.size() != arguments.size() || leaves.key.size() != key.size()) return false;
  auto number = leaves.numbers.begin();
  for (uint32_t k = 0; k < key.size(); ++k) {
    const bool is_number = number != leaves.numbers.end() && number->place == k;
    if (is_number) ++number;
    const bool is_free = std::find(free.begin(), free.end(), k) != free.end();
    if (key[k] != leaves.key[k] && !is_number) return false;
    if (differing != nullptr && (is_free || key[k] != leaves.key[k])) differing->push_back(k);
  }
  return true;
}

std::optional<Symbols> VersionGuards::shapes_hold(const Leaves& leaves) const {
  std::optional<Symbols> symbols(std::in_place);
  symbols->resize(size_symbols());
  if (shapes && !shapes->holds([&](size_t i) { return view_of(leaves.tensors[i]); }, symbols->data()))
    symbols.reset();
  else
    for (auto place : free) symbols->push_back(leaves.key[place]);
  return symbols;
}

std::optional<Symbols> VersionGuards::arguments_hold(const Call& call) const {
  if (!same_key(call.leaves) || !(call.ambient == ambient)) return std::nullopt;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].holds(call.leaves.tensors[i])) return std::nullopt;
  return shapes_hold(call.leaves);
}

std::optional<Symbols> VersionGuards::hold_ignoring_owners(const Call& call) const {
  auto symbols = arguments_hold(call);
  if (symbols && modules != nullptr && !modules->difference_of_contents().empty()) symbols.reset();
  return symbols;
}

std::optional<Symbols> VersionGuards::hold(const Call& call) const {
  auto symbols = arguments_hold(call);
  if (symbols && modules != nullptr && !modules->difference().empty()) symbols.reset();
  return symbols;
}

bool VersionGuards::lifts_same(const capture::Trace& trace) const {
  return std::equal(lifted.begin(), lifted.end(), trace.lifted.begin(), trace.lifted.end(),
                    [](const Lifted& known, const capture::LiftedTensor& now) {
                      return known.tensor._unsafe_get_target() == now.tensor.unsafeGetTensorImpl();
                    });
}

bool VersionGuards::add_bases(Inputs& inputs, const std::vector<int64_t>& offsets) const {
  for (const auto& [shared, guard] : bases)
    for (auto i : shared.views) {
      const auto& view = inputs[i];
      if (!view.is_view() || view.storage_offset() != offsets[i]) return false;
      const auto base = static_cast<size_t>(shared.base);
      if (base == inputs.size()) inputs.emplace_back(view._base());
      if (!inputs[base].is_same(view._base()) || !guard.holds(inputs[base])) return false;
    }
  return true;
}

bool VersionGuards::add_lifted(Inputs& inputs) const {
  for (const auto& one : lifted) {
    inputs.emplace_back(one.tensor.lock());
    if (!inputs.back().defined() || !one.holds(inputs.back())) return false;
  }
  return true;
}

bool VersionGuards::dead() const {
  for (const auto& one : lifted) {
    if (one.tensor.expired()) return true;
    if (!one.contents) continue;
    const at::Tensor tensor(one.tensor.lock());
    if (!tensor.defined() || !one.holds(tensor)) return true;
  }
  return modules != nullptr && modules->dead();
}

size_t VersionGuards::frozen() const {
  return static_cast<size_t>(
      std::ranges::count_if(lifted, [](const Lifted& one) { return one.contents.has_value(); }));
}

std::string VersionGuards::lifted_mismatch() const {
  for (size_t k = 0; k < lifted.size(); ++k) {
    const at::Tensor tensor(lifted[k].tensor.lock());
    if (!tensor.defined()) return fmt::format("captured tensor {} no longer exists", k);
    if (!lifted[k].guard.holds(tensor))
      return fmt::format("captured tensor {} {}", k, lifted[k].guard.failure(tensor));
    if (lifted[k].contents && !lifted[k].contents->hold(tensor))
      return fmt::format("captured tensor {}, which is a constant (Options::freeze), was written to", k);
  }
  return {};
}

std::string VersionGuards::shapes_mismatch(const Leaves& leaves) const {
  if (!shapes) return {};
  std::vector<symbolic::ShapeView> views;  // of any call, also one whose arguments differ in more than sizes
  for (const auto& tensor : leaves.tensors)
    views.push_back(tensor.defined() ? view_of(tensor) : symbolic::ShapeView());
  return shapes->failure(views);
}

std::vector<std::string> VersionGuards::mismatches(const Call& call) const {
  const auto& leaves = call.leaves;
  std::vector<std::string> out;
  if (leaves.tensors.size() != arguments.size() || leaves.key.size() != key.size()) {
    out.push_back(
        fmt::format("the structure of the arguments differs: {} tensors and {} other parts, had {} and {}",
                    leaves.tensors.size(), leaves.key.size(), arguments.size(), key.size()));
    return out;
  }
  auto number = leaves.numbers.begin();
  for (size_t k = 0; k < key.size(); ++k) {
    const bool is_number = number != leaves.numbers.end() && number->place == k;
    const bool is_free = std::find(free.begin(), free.end(), k) != free.end();
    if (key[k] != leaves.key[k] && !is_free)
      out.push_back(is_number ? fmt::format("argument {} {} {}, was {}", number->argument,
                                            number->real ? "is the number" : "is the integer",
                                            number_text(leaves.key[k], number->real),
                                            number_text(key[k], number->real))
                    : k == 0  ? "the types of the arguments differ"
                              : fmt::format("a flag, an enumerator, a length or a text among the "
                                             "arguments differs: its part {} is {}, was {}",
                                            k, leaves.key[k], key[k]));
    if (is_number) ++number;
  }
  if (!(call.ambient == ambient)) out.push_back(runtime::difference(ambient, call.ambient));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!arguments[i].holds(leaves.tensors[i]))
      out.push_back(fmt::format("tensor {} {}", i, arguments[i].failure(leaves.tensors[i])));
  if (modules != nullptr)
    if (auto what = modules->difference(); !what.empty()) out.push_back(std::move(what));
  return out;
}

}  // namespace antegrad::compiler
