#include "runtime/guards.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include "aot/aliasing.h"
#include "aten/convert.h"
#include "capture/outside.h"

namespace antegrad::runtime {

namespace {

/// The choices are made while a function is captured.
uint8_t enabled_kernels() {
  const auto& context = at::globalContext();
  uint8_t bits = 0;
  for (const bool flag :
       {context.userEnabledFlashSDP(), context.userEnabledMemEfficientSDP(), context.userEnabledMathSDP(),
        context.userEnabledCuDNNSDP(), context.userEnabledCuDNN()})
    bits = static_cast<uint8_t>(bits << 1 | (flag ? 1 : 0));
  return bits;
}

}  // namespace

Ambient Ambient::now() {
  Ambient ambient;
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  ambient.included_keys = keys.included_.raw_repr();
  ambient.excluded_keys = keys.excluded_.raw_repr();
  ambient.grad_mode = c10::GradMode::is_enabled();
  ambient.inference_mode = c10::InferenceMode::is_enabled();
  ambient.deterministic = at::globalContext().deterministicAlgorithms();
  ambient.kernel_flags = enabled_kernels();
  ambient.default_dtype = c10::get_default_dtype_as_scalartype();
  // Autocast shows in the excluded keys; its dtypes matter only when it is on.
  ambient.autocast_cpu = !keys.excluded_.has(c10::DispatchKey::AutocastCPU);
  ambient.autocast_cuda = !keys.excluded_.has(c10::DispatchKey::AutocastCUDA);
  if (ambient.autocast_cpu) ambient.autocast_cpu_dtype = at::autocast::get_autocast_dtype(c10::kCPU);
  if (ambient.autocast_cuda) ambient.autocast_cuda_dtype = at::autocast::get_autocast_dtype(c10::kCUDA);
  return ambient;
}

namespace {

void set_autocast(const Ambient& ambient) {
  at::autocast::set_autocast_enabled(c10::kCPU, ambient.autocast_cpu);
  at::autocast::set_autocast_enabled(c10::kCUDA, ambient.autocast_cuda);
  if (ambient.autocast_cpu) at::autocast::set_autocast_dtype(c10::kCPU, ambient.autocast_cpu_dtype);
  if (ambient.autocast_cuda) at::autocast::set_autocast_dtype(c10::kCUDA, ambient.autocast_cuda_dtype);
}

}  // namespace

void restore(const Ambient& ambient) {
  set_autocast(ambient);
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(ambient.default_dtype));
  if (at::globalContext().deterministicAlgorithms() != ambient.deterministic)
    at::globalContext().setDeterministicAlgorithms(ambient.deterministic,
                                                   at::globalContext().deterministicAlgorithmsWarnOnly());
}

AmbientGuard::AmbientGuard(const Ambient& ambient)
    : before_(Ambient::now()),
      cpu_dtype_(at::autocast::get_autocast_dtype(c10::kCPU)),
      cuda_dtype_(at::autocast::get_autocast_dtype(c10::kCUDA)) {
  set_autocast(ambient);
}
AmbientGuard::~AmbientGuard() {
  set_autocast(before_);
  at::autocast::set_autocast_dtype(c10::kCPU, cpu_dtype_);
  at::autocast::set_autocast_dtype(c10::kCUDA, cuda_dtype_);
}

std::string difference(const Ambient& captured, const Ambient& now) {
  auto changed = [](const char* what, auto was, auto is) {
    return fmt::format("{} was {} and is {}", what, was, is);
  };
  if (captured.grad_mode != now.grad_mode) return changed("grad mode", captured.grad_mode, now.grad_mode);
  if (captured.inference_mode != now.inference_mode)
    return changed("inference mode", captured.inference_mode, now.inference_mode);
  if (captured.deterministic != now.deterministic)
    return changed("the deterministic flag", captured.deterministic, now.deterministic);
  if (captured.kernel_flags != now.kernel_flags)
    return "which kernels of attention or cuDNN are enabled has changed";
  if (captured.default_dtype != now.default_dtype)
    return changed("the default dtype", c10::toString(captured.default_dtype),
                   c10::toString(now.default_dtype));
  if (captured.autocast_cpu != now.autocast_cpu)
    return changed("autocast", captured.autocast_cpu, now.autocast_cpu);
  if (captured.autocast_cuda != now.autocast_cuda)
    return changed("autocast on CUDA devices", captured.autocast_cuda, now.autocast_cuda);
  if (captured.autocast_cuda_dtype != now.autocast_cuda_dtype)
    return changed("the autocast dtype on CUDA devices", c10::toString(captured.autocast_cuda_dtype),
                   c10::toString(now.autocast_cuda_dtype));
  if (captured.autocast_cpu_dtype != now.autocast_cpu_dtype)
    return changed("the autocast dtype", c10::toString(captured.autocast_cpu_dtype),
                   c10::toString(now.autocast_cpu_dtype));
  return "the thread's dispatch keys differ";
}

namespace {

/// Returns the .grad of a leaf, or null.
const at::Tensor* grad_of(const c10::TensorImpl& impl) {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl.autograd_meta());
  return meta != nullptr && meta->grad_.defined() ? &meta->grad_ : nullptr;
}

}  // namespace

TensorGuard::TensorGuard(const at::Tensor& tensor) : defined_(tensor.defined()) {
  if (!defined_) return;
  const auto* impl = tensor.unsafeGetTensorImpl();
  keys_ = impl->key_set();
  dtype_ = impl->dtype();
  device_ = impl->device();
  requires_grad_ = impl->requires_grad();
  wrapped_number_ = impl->is_wrapped_number();
  has_tangent_ = capture::has_tangent(*impl);
  plain_ = impl->layout() == c10::kStrided && !tensor.is_nested();
  if (plain_) {
    sizes_.assign(tensor.sizes().begin(), tensor.sizes().end());
    strides_.assign(tensor.strides().begin(), tensor.strides().end());
  }
  if (const auto* grad = grad_of(*impl)) {
    has_grad_ = true;
    grad_ = c10::weak_intrusive_ptr<c10::TensorImpl>(grad->getIntrusivePtr());
  }
}

bool TensorGuard::holds(const at::Tensor& tensor) const {
  if (!defined_ || !tensor.defined()) return defined_ == tensor.defined();
  const auto* impl = tensor.unsafeGetTensorImpl();
  if (impl->key_set() != keys_ || impl->dtype() != dtype_ || impl->device() != device_) return false;
  if (plain_ && guards_shape_ &&
      (impl->sizes() != at::IntArrayRef(sizes_) || impl->strides() != at::IntArrayRef(strides_)))
    return false;
  return impl->requires_grad() == requires_grad_ && impl->is_wrapped_number() == wrapped_number_ &&
         capture::has_tangent(*impl) == has_tangent_ && same_grad(*impl);
}

bool TensorGuard::same_grad(const c10::TensorImpl& impl) const {
  if (!guards_grad_) return true;
  const auto* grad = grad_of(impl);
  if (grad == nullptr || !has_grad_ || !guards_which_grad_) return (grad != nullptr) == has_grad_;
  return grad_._unsafe_get_target() == grad->unsafeGetTensorImpl() && !grad_.expired();
}

std::string TensorGuard::failure(const at::Tensor& tensor) const {
  if (!defined_ || !tensor.defined()) return defined_ ? "is undefined now" : "was undefined";
  if (!plain_) return "is of another kind";
  if (guards_shape_ && tensor.sizes() != at::IntArrayRef(sizes_))
    return c10::str("has sizes ", tensor.sizes(), ", had ", at::IntArrayRef(sizes_));
  if (guards_shape_ && tensor.layout() == c10::kStrided && tensor.strides() != at::IntArrayRef(strides_))
    return c10::str("has strides ", tensor.strides(), ", had ", at::IntArrayRef(strides_));
  if (tensor.dtype() != dtype_) return c10::str("has dtype ", tensor.dtype(), ", had ", dtype_);
  if (tensor.device() != device_) return c10::str("is on ", tensor.device(), ", was on ", device_);
  if (tensor.requires_grad() != requires_grad_)
    return c10::str("has requires_grad ", tensor.requires_grad(), ", had ", requires_grad_);
  if (capture::has_tangent(*tensor.unsafeGetTensorImpl()) != has_tangent_)
    return has_tangent_ ? "has no forward gradient now" : "has a forward gradient now";
  if (!same_grad(*tensor.unsafeGetTensorImpl())) return "has another .grad";
  return "is of another kind";
}

namespace {

/// Checks the inputs of one call against what a signature requires. Each check returns what differs, or "".
class AliasCheck {
 public:
  AliasCheck(const aot::Signature& signature, c10::ArrayRef<at::Tensor> inputs)
      : signature_(signature), inputs_(inputs), count_(static_cast<int32_t>(inputs.size())) {}

  std::string offsets(const std::vector<int64_t>& captured) const {
    for (auto i : signature_.fixed_offsets)
      if (offset(i) != captured[i])
        return fmt::format("input {} has storage offset {}, had {}", i, offset(i), captured[i]);
    return {};
  }

  std::string shared_memory() const {
    for (const auto& shared : signature_.shared) {
      const auto first = shared.inputs[0];
      for (size_t k = 1; k < shared.inputs.size(); ++k)
        if (storage(shared.inputs[k]) != storage(first) ||
            offset(shared.inputs[k]) - offset(first) != shared.offsets[k])
          return fmt::format("inputs {} and {} no longer overlap as they did", first, shared.inputs[k]);
    }
    return {};
  }

  std::string bases() const {
    for (const auto& step : signature_.steps) {
      const auto* base = std::get_if<aot::MakeBase>(&step);
      for (int32_t j = 0; base != nullptr && base->escapes && j < count_; ++j)
        if (storage(j) == storage(base->members[0]) && !stands_for_another(j) && !contains(base->members, j))
          return fmt::format("input {} is now in the storage that the function accesses beyond input {}", j,
                             base->members[0]);
    }
    return {};
  }

  std::string growing() const {
    for (const auto& step : signature_.steps)
      if (const auto* resize = std::get_if<aot::ResizeInput>(&step)) {
        const auto& tensor = inputs_[resize->input];
        if (tensor.storage().nbytes() != tensor.nbytes())
          return fmt::format("input {} grows, and is now part of a larger storage", resize->input);
      }
    return {};
  }

  std::string objects() const {
    for (auto [a, b] : signature_.same)
      if (!is_same(a, b)) return fmt::format("inputs {} and {} are no longer the same tensor", a, b);
    for (auto c : signature_.changed)
      for (int32_t j = 0; j < count_; ++j)
        if (j != c && is_same(c, j) && !is_duplicate(c, j))
          return fmt::format("the shape of input {} changes, and input {} is now the same tensor", c, j);
    return {};
  }

  bool is_view(int32_t j) const {
    return std::find(signature_.views.begin(), signature_.views.end(), j) != signature_.views.end();
  }

  std::string writes() const {
    for (auto w : signature_.written) {
      for (int32_t j = 0; j < count_; ++j) {
        if (j == w || storage(j) == nullptr || storage(j) != storage(w)) continue;
        if (stands_for_another(j) || is_view(j) || together(w, j) || known_apart(w, j)) continue;
        const auto& a = inputs_[w];
        const auto& b = inputs_[j];
        if (aot::overlap(aten::type_of(a, a.device()), aten::type_of(b, b.device())))
          return fmt::format("input {} is written and now overlaps input {}", w, j);
      }
    }
    return {};
  }

 private:
  const c10::StorageImpl* storage(int32_t i) const {
    const auto& tensor = inputs_[i];
    return tensor.defined() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  }
  int64_t offset(int32_t i) const { return inputs_[i].storage_offset(); }
  bool is_same(int32_t a, int32_t b) const { return inputs_[a].is_same(inputs_[b]); }
  static bool contains(const std::vector<int32_t>& list, int32_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  }
  bool is_duplicate(int32_t a, int32_t b) const {
    const std::pair pair(std::min(a, b), std::max(a, b));
    return std::find(signature_.same.begin(), signature_.same.end(), pair) != signature_.same.end();
  }
  bool stands_for_another(int32_t i) const {
    return std::any_of(signature_.same.begin(), signature_.same.end(),
                       [i](const auto& p) { return p.second == i; });
  }
  bool known_apart(int32_t a, int32_t b) const {
    const aot::DisjointInputs pair{a, b, offset(b) - offset(a)};
    return std::find(signature_.apart.begin(), signature_.apart.end(), pair) != signature_.apart.end();
  }
  bool together(int32_t a, int32_t b) const {
    return std::any_of(signature_.shared.begin(), signature_.shared.end(),
                       [&](const aot::SharedMemory& shared) {
                         return contains(shared.inputs, a) && contains(shared.inputs, b);
                       });
  }

  const aot::Signature& signature_;
  c10::ArrayRef<at::Tensor> inputs_;
  int32_t count_;
};

}  // namespace

std::string aliasing_failure(const aot::Signature& signature, c10::ArrayRef<at::Tensor> inputs,
                             const std::vector<int64_t>& captured_offsets) {
  const AliasCheck check(signature, inputs);
  if (auto what = check.offsets(captured_offsets); !what.empty()) return what;
  if (auto what = check.shared_memory(); !what.empty()) return what;
  if (auto what = check.bases(); !what.empty()) return what;
  if (auto what = check.growing(); !what.empty()) return what;
  if (auto what = check.objects(); !what.empty()) return what;
  return check.writes();
}

}  // namespace antegrad::runtime
