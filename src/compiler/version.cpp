#include "compiler/version.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/gradient_function.h"
#include "ir/text.h"

namespace antegrad::compiler {
namespace {

/// An argument whose shape the function changes, and which it also reaches as a captured tensor.
void check_changed_inputs(const aot::Signature& signature, const Leaves& leaves,
                          const capture::Trace& trace) {
  for (auto i : signature.changed)
    for (const auto& lifted : trace.lifted)
      if (static_cast<size_t>(i) < leaves.tensors.size() &&
          lifted.tensor.is_same(leaves.tensors[static_cast<size_t>(i)]))
        throw Error(
            ErrorCode::UnsupportedTensor, "compile",
            fmt::format(
                "the shape of argument {} changes, and the function reaches the same tensor otherwise", i),
            "Use the argument only, or pass a view of it");
}

bool relies_on_aliasing(const aot::Signature& signature) {
  return !signature.written.empty() || !signature.shared.empty() || !signature.fixed_offsets.empty() ||
         !signature.same.empty() || !signature.changed.empty();
}

symbolic::ShapeView view_of(const at::Tensor& tensor) {
  return {tensor.sizes().data(), tensor.strides().data(), tensor.sizes().size()};
}

bool has_plain_shape(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided && !tensor.is_nested();
}

/// Where both are defined: as many dims, and zeros in the same places.
bool of_one_kind(const symbolic::Call& a, const symbolic::Call& b) {
  const auto zeros_alike = [](const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](int64_t v, int64_t w) { return (v == 0) == (w == 0); });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return x.defined == y.defined && zeros_alike(x.sizes, y.sizes) && zeros_alike(x.strides, y.strides);
  });
}

}  // namespace

symbolic::Call call_of(c10::ArrayRef<at::Tensor> tensors) {
  symbolic::Call call;
  for (const auto& tensor : tensors) {
    auto& shape = call.emplace_back();
    shape.defined = has_plain_shape(tensor);
    if (!shape.defined) continue;
    shape.sizes = tensor.sizes().vec();
    shape.strides = tensor.strides().vec();
  }
  return call;
}

size_t Version::SymbolsHash::operator()(const Symbols& symbols) const {
  size_t hash = symbols.size();
  for (auto value : symbols) hash = (hash ^ static_cast<size_t>(value)) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

Version::Version(const Options& options, const Leaves& leaves, const std::vector<at::Tensor>& met)
    : key_(leaves.key.begin(), leaves.key.end()), ambient_(runtime::Ambient::now()) {
  for (const auto& tensor : met) {
    lifted_.push_back(
        {c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr()), runtime::TensorGuard(tensor)});
    lifted_.back().guard.ignore_grad();
  }
  for (const auto& tensor : leaves.tensors) guards_.emplace_back(tensor);
  if (!options.watch.empty()) modules_ = std::make_unique<ModuleState>(options.watch);
}

Version::Version(const Options& options, const Leaves& leaves, std::exception_ptr refusal)
    : Version(options, leaves) {
  for (auto& guard : guards_) guard.ignore_grad();
  refusal_ = std::move(refusal);
}

Version::Version(const CaptureSettings& settings, const Leaves& leaves, const Captured& captured,
                 const symbolic::Shapes& shapes, ir::Graph graph, FunctionCache cache)
    : Version(settings.options, leaves) {
  const auto& trace = captured.trace;
  check_changed_inputs(captured.functional.signature, leaves, trace);
  if (shapes.dynamic()) {
    shape_guard_.emplace(shapes);
    for (auto& guard : guards_) guard.ignore_shape();
  }
  for (const auto& shared : captured.bases) {
    bases_.push_back({shared, runtime::TensorGuard(captured.inputs[static_cast<size_t>(shared.base)])});
    bases_.back().guard.ignore_grad();
  }
  for (const auto& lifted : trace.lifted)
    lifted_.push_back({c10::weak_intrusive_ptr<c10::TensorImpl>(lifted.tensor.getIntrusivePtr()),
                       runtime::TensorGuard(lifted.tensor)});
  shape_fallbacks_ = trace.counts.real_kernels;
  if (trace.differentiable && trace.views.empty())
    gradients_ = GradientFunction::make_function(settings.options);
  ignore_unread_grads(leaves, trace);
  template_ = std::make_shared<const Template>(settings, std::move(graph), trace, std::move(cache));
}

InstancePtr Version::make_instance(const CaptureSettings& settings, const Leaves& leaves,
                                   const Captured& captured, const detail::KeepRun& keep,
                                   std::string& why) const {
  auto instance = std::make_shared<Instance>();
  why = shapes_hold(leaves, instance->symbols) ? "" : "its guards do not hold";
  const std::vector<int64_t> symbols(instance->symbols.begin(), instance->symbols.end());
  if (why.empty() && is_dynamic()) why = template_->difference(symbols, captured);
  if (why.empty() && !lifts_same(captured.trace)) why = "it reads other tensors than those captured before";
  if (!why.empty()) return nullptr;
  instance->pattern = captured.end.pattern;
  instance->grad_mode_after = captured.end.grad_mode;
  for (const auto& tensor : captured.inputs)
    instance->offsets.push_back(tensor.defined() ? tensor.storage_offset() : 0);
  for (const auto& lifted : captured.trace.lifted)
    instance->offsets.push_back(lifted.tensor.storage_offset());
  instance->check_aliasing = relies_on_aliasing(captured.functional.signature);
  if (settings.options.check_recapture) instance->traced_text = traced_text(captured);
  std::shared_ptr<runtime::HigherOrder> higher_order;
  if (gradients_)
    higher_order =
        std::make_shared<GradientFunction>(gradients_, settings.options.name, keep(), leaves, captured.trace);
  instance->caller = template_->instantiate(symbols, captured, std::move(higher_order));
  return instance;
}

bool Version::lifts_same(const capture::Trace& trace) const {
  return std::equal(lifted_.begin(), lifted_.end(), trace.lifted.begin(), trace.lifted.end(),
                    [](const Lifted& known, const capture::LiftedTensor& lifted) {
                      return known.tensor._unsafe_get_target() == lifted.tensor.unsafeGetTensorImpl();
                    });
}

void Version::add(InstancePtr instance, int most) {
  instance->used = ++clock_;
  newest_ = instance;
  instances_[instance->symbols] = std::move(instance);
  if (instances_.size() <= static_cast<size_t>(std::max(1, most))) return;
  const auto oldest =
      std::min_element(instances_.begin(), instances_.end(),
                       [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
  instances_.erase(oldest);
}

bool Version::add_bases(Inputs& inputs, const std::vector<int64_t>& offsets) const {
  for (const auto& [shared, guard] : bases_)
    for (auto i : shared.views) {
      const auto& view = inputs[static_cast<size_t>(i)];
      if (!view.is_view() || view.storage_offset() != offsets[static_cast<size_t>(i)]) return false;
      const auto base = static_cast<size_t>(shared.base);
      if (base == inputs.size()) inputs.emplace_back(view._base());
      if (!inputs[base].is_same(view._base()) || !guard.holds(inputs[base])) return false;
    }
  return true;
}

/// Training changes the .grad of leaves all the time, also between the evaluations of a model. A function
/// that reads one has lifted it. One without a backward pass may be an optimizer's step and ask whether there
/// is one.
void Version::ignore_unread_grads(const Leaves& leaves, const capture::Trace& traced) {
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
      guard.ignore_which_grad();
  };
  for (size_t i = 0; i < guards_.size(); ++i) ignore(leaves.tensors[i], guards_[i]);
  for (size_t k = 0; k < lifted_.size(); ++k) ignore(traced.lifted[k].tensor, lifted_[k].guard);
}

bool Version::dead() const {
  for (const auto& lifted : lifted_)
    if (lifted.tensor.expired()) return true;
  return modules_ != nullptr && modules_->dead();
}

bool Version::same_key(const Leaves& leaves) const {
  return leaves.tensors.size() == guards_.size() && leaves.key.size() == key_.size() &&
         std::equal(key_.begin(), key_.end(), leaves.key.begin());
}

bool Version::shapes_hold(const Leaves& leaves, Symbols& symbols) const {
  if (!shape_guard_) return true;
  symbols.resize(shape_guard_->symbols());
  return shape_guard_->holds([&](size_t i) { return view_of(leaves.tensors[i]); }, symbols.data());
}

bool Version::inputs_hold(const Leaves& leaves, const runtime::Ambient& ambient, Symbols& symbols) const {
  if (!same_key(leaves) || !(ambient == ambient_)) return false;
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!guards_[i].holds(leaves.tensors[i])) return false;
  return shapes_hold(leaves, symbols);
}

bool Version::guards_hold(const Leaves& leaves, const runtime::Ambient& ambient, Symbols& symbols) const {
  return inputs_hold(leaves, ambient, symbols) && (modules_ == nullptr || modules_->difference().empty());
}

bool Version::allows(const Leaves& leaves, const runtime::Ambient& ambient) const {
  Symbols symbols;
  return guards_hold(leaves, ambient, symbols);
}

InstancePtr Version::find_instance(const Symbols& symbols) const {
  if (!shape_guard_) return newest_;
  const auto found = instances_.find(symbols);
  if (found == instances_.end()) return nullptr;
  found->second->used.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  return found->second;
}

bool Version::matches(const Leaves& leaves, const runtime::Ambient& ambient, Inputs& inputs,
                      InstancePtr& instance) const {
  Symbols symbols;
  if (!guards_hold(leaves, ambient, symbols)) return false;
  inputs.assign(leaves.tensors.begin(), leaves.tensors.end());
  if (is_eager()) return lifted_mismatch().empty();
  instance = find_instance(symbols);
  if (instance == nullptr || !add_bases(inputs, instance->offsets)) return false;
  for (const auto& lifted : lifted_) {
    inputs.emplace_back(lifted.tensor.lock());
    if (!inputs.back().defined() || !lifted.guard.holds(inputs.back())) return false;
  }
  return !instance->check_aliasing ||
         runtime::aliasing_failure(instance->caller->signature(), inputs, instance->offsets).empty();
}

std::string Version::lifted_mismatch() const {
  for (size_t k = 0; k < lifted_.size(); ++k) {
    const at::Tensor tensor(lifted_[k].tensor.lock());
    if (!tensor.defined()) return fmt::format("captured tensor {} no longer exists", k);
    if (!lifted_[k].guard.holds(tensor))
      return fmt::format("captured tensor {} {}", k, lifted_[k].guard.failure(tensor));
  }
  return {};
}

std::string Version::inputs_mismatch(const Leaves& leaves) const {
  Symbols symbols;
  if (!shapes_hold(leaves, symbols)) {
    std::vector<symbolic::ShapeView> views;
    for (const auto& tensor : leaves.tensors)
      views.push_back(tensor.defined() ? view_of(tensor) : symbolic::ShapeView());
    return shape_guard_->failure(views);
  }
  const auto instance = find_instance(symbols);
  if (instance == nullptr) return "it has not been seen at these sizes";
  Inputs inputs(leaves.tensors.begin(), leaves.tensors.end());
  if (!add_bases(inputs, instance->offsets)) return "inputs are no longer the same views of one tensor";
  for (size_t k = 0; k < lifted_.size(); ++k) {
    inputs.emplace_back(lifted_[k].tensor.lock());
    if (!inputs.back().defined()) return fmt::format("captured tensor {} no longer exists", k);
    if (!lifted_[k].guard.holds(inputs.back()))
      return fmt::format("captured tensor {} {}", k, lifted_[k].guard.failure(inputs.back()));
  }
  return instance->check_aliasing
             ? runtime::aliasing_failure(instance->caller->signature(), inputs, instance->offsets)
             : "nothing differs";
}

std::string Version::mismatch(const Leaves& leaves, const runtime::Ambient& ambient) const {
  if (!same_key(leaves)) return "a number, a string or the structure of the arguments differs";
  if (!(ambient == ambient_)) return runtime::difference(ambient_, ambient);
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!guards_[i].holds(leaves.tensors[i]))
      return fmt::format("tensor {} {}", i, guards_[i].failure(leaves.tensors[i]));
  if (modules_ != nullptr)
    if (auto what = modules_->difference(); !what.empty()) return what;
  if (!is_eager()) return inputs_mismatch(leaves);
  const auto what = lifted_mismatch();
  return what.empty() ? "nothing differs" : what;
}

std::optional<symbolic::Call> Version::shapes_if_like(const Leaves& leaves,
                                                      const runtime::Ambient& ambient) const {
  if (is_eager() || !same_key(leaves) || !(ambient == ambient_)) return std::nullopt;
  symbolic::Call own;
  for (size_t i = 0; i < guards_.size(); ++i) {
    auto guard = guards_[i];
    guard.ignore_shape();
    if (!guard.holds(leaves.tensors[i])) return std::nullopt;
    auto& shape = own.emplace_back();
    shape.defined = guard.is_plain();
    shape.sizes = guard.sizes().vec();
    shape.strides = guard.strides().vec();
  }
  if (!of_one_kind(own, call_of(leaves.tensors))) return std::nullopt;
  return own;
}

std::string Version::guards_text() const { return shape_guard_ ? shape_guard_->to_string() : ""; }

std::string traced_text_now(const Options& options, const Leaves& leaves, const detail::RunOnTensors& run) {
  ModuleState modules(options.watch);
  return traced_text(
      capture_call({options, true, nullptr}, {leaves.tensors.begin(), leaves.tensors.end()}, &modules, run));
}

}  // namespace antegrad::compiler
