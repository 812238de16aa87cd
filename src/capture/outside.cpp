#include "capture/outside.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "capture/fake.h"

namespace antegrad::capture {

using namespace aten;

namespace {

constexpr size_t kMaxSnapshotBytes = size_t{64} << 20;
constexpr size_t kMaxCompared = size_t{1} << 20;  // beyond that a comparison at every use costs too much

/// Takes hooks off the tensor until the end of the capture: an in-place op would move them to the tensor's
/// new history. The real history keeps them. A tensor without hooks is not written to: other threads may use
/// it.
void set_hooks_aside(torch::autograd::AutogradMeta& meta, c10::TensorImpl& saved) {
  if (!meta.retains_grad_ && meta.cpp_hooks_list_ == nullptr) return;
  auto own = std::make_unique<torch::autograd::AutogradMeta>();
  own->retains_grad_ = std::exchange(meta.retains_grad_, own->retains_grad_);
  own->cpp_hooks_list_ = std::move(meta.cpp_hooks_list_);
  saved.set_autograd_meta(std::move(own));
}

void restore_hooks(torch::autograd::AutogradMeta& meta, const c10::TensorImpl& saved) {
  const auto* own = static_cast<const torch::autograd::AutogradMeta*>(saved.autograd_meta());
  if (own == nullptr) {
    if (meta.retains_grad_) meta.retains_grad_ = false;
    if (meta.cpp_hooks_list_ != nullptr) meta.cpp_hooks_list_.reset();
    return;
  }
  meta.retains_grad_ = own->retains_grad_;
  meta.cpp_hooks_list_ = own->cpp_hooks_list_;
}

void remember_state(Outsider& outsider, const at::Tensor& real, bool leave_hooks) {
  const auto* impl = real.unsafeGetTensorImpl();
  outsider.sizes = real.sizes().vec();
  {
    BelowRecording below;
    outsider.saved = impl->shallow_copy_and_detach(c10::VariableVersion(), true);
  }
  if (impl->version_counter().enabled()) outsider.version = impl->version_counter().current_version();
  outsider.requires_grad = real.requires_grad();
  if (auto* meta = torch::autograd::impl::get_autograd_meta(real)) {
    outsider.grad = meta->grad_;
    outsider.grad_fn = meta->grad_fn_;
    outsider.output_nr = meta->output_nr_;
    outsider.is_set_to_require_grad = meta->requires_grad_;
    if (!leave_hooks) set_hooks_aside(*meta, *outsider.saved);
  }
  const auto* view = torch::autograd::impl::get_view_autograd_meta(real);
  if (view == nullptr || !view->has_bw_view()) return;
  outsider.base = view->get_backward_view().base_;
  outsider.attr_version = view->get_attr_version();
  if (const auto* meta = torch::autograd::impl::get_autograd_meta(outsider.base)) {
    outsider.base_grad_fn = meta->grad_fn_;
    outsider.base_output_nr = meta->output_nr_;
  }
}

void set_history(torch::autograd::AutogradMeta& meta, const std::shared_ptr<torch::autograd::Node>& grad_fn,
                 uint32_t output_nr) {
  if (meta.grad_fn_ == grad_fn) return;
  meta.grad_fn_ = grad_fn;
  meta.output_nr_ = output_nr;
}

/// To be called for the outsider met last first: one that was met after an in-place op knows only what that
/// op has made of its history, or its base's.
void restore_histories(const Outsider& outsider) {
  if (auto* meta = torch::autograd::impl::get_autograd_meta(outsider.tensor))
    set_history(*meta, outsider.grad_fn, outsider.output_nr);
  if (!outsider.base.defined()) return;
  torch::autograd::impl::get_view_autograd_meta(outsider.tensor)->set_attr_version(outsider.attr_version);
  if (auto* meta = torch::autograd::impl::get_autograd_meta(outsider.base))
    set_history(*meta, outsider.base_grad_fn, outsider.base_output_nr);
}

bool has_its_data(const Outsider& outsider) {
  const auto* impl = outsider.tensor.unsafeGetTensorImpl();
  const auto& saved = *outsider.saved;
  return impl->storage().unsafeGetStorageImpl() == saved.storage().unsafeGetStorageImpl() &&
         impl->dtype() == saved.dtype() && impl->sizes() == saved.sizes() &&
         impl->strides() == saved.strides() && impl->storage_offset() == saved.storage_offset();
}

/// Returns whether the function had given the tensor new data.
bool restore_data(const Outsider& outsider) {
  if (has_its_data(outsider)) return false;
  outsider.tensor.unsafeGetTensorImpl()->shallow_copy_from(outsider.saved);
  return true;
}

/// Returns whether the function had replaced .grad.
bool restore_autograd(Outsider& outsider, bool hooks) {
  const auto& tensor = outsider.tensor;
  auto* impl = tensor.unsafeGetTensorImpl();
  if (impl->version_counter().enabled()) {
    // Views share a counter: the outsider met first restores it, and is charged with all increments.
    auto counter = impl->version_counter();
    const auto now = counter.current_version();
    if (now > outsider.version) {
      outsider.version_bumps = now - outsider.version;
      counter.set_version(outsider.version);
    }
  }
  auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  if (meta == nullptr) return false;
  if (hooks) restore_hooks(*meta, *outsider.saved);
  // By its history, or as a view of a tensor that does.
  const bool inherited = outsider.requires_grad && !outsider.is_set_to_require_grad;
  outsider.ends_requiring_grad = meta->requires_grad_ || inherited;
  const bool grad_replaced = !meta->grad_.is_same(outsider.grad);
  if (grad_replaced) meta->grad_ = outsider.grad;
  outsider.gained_grad_fn = meta->grad_fn_ != outsider.grad_fn;
  if (!outsider.grad_fn && meta->requires_grad_ != outsider.is_set_to_require_grad)
    meta->requires_grad_ = outsider.is_set_to_require_grad;
  return grad_replaced;
}

}  // namespace

bool is_borrowed(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && !tensor.storage().resizable() && tensor.storage().allocator() == nullptr;
}

ir::Bytes contents_of(const at::Tensor& tensor) {
  BelowRecording below;
  auto dense = tensor.detach().contiguous();
  const auto* data = static_cast<const uint8_t*>(dense.const_data_ptr());
  return std::make_shared<std::vector<uint8_t>>(data, data + dense.nbytes());
}

bool has_tangent(const c10::TensorImpl& impl) {
  const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(impl.autograd_meta());
  return meta != nullptr && meta->fw_grad_ != nullptr && !meta->fw_grad_->empty();
}

void check_undecorated(const at::Tensor& tensor, const char* where) {
  const auto fail = [&](const char* what, const char* way_out) {
    throw Error(ErrorCode::UnsupportedTensor, where,
                fmt::format("a tensor of dtype {} has {}, which results would lose",
                            c10::toString(tensor.scalar_type()), what),
                way_out);
  };
  if (has_tangent(*tensor.unsafeGetTensorImpl()))
    fail(
        "a forward gradient",
        "Call the uncompiled function for derivatives of forward mode, or set Options::unsupported to Eager");
  if (tensor.has_names())
    fail("named dims",
         "Drop the names (rename(std::nullopt)) before the call, or set Options::unsupported to Eager");
}

void check_capturable(const at::Tensor& tensor, const char* where) {
  const char* kind = nullptr;
  if (tensor.layout() != c10::kStrided)
    kind = "sparse or otherwise not strided";
  else if (tensor.is_quantized())
    kind = "quantized";
  else if (tensor.is_nested())
    kind = "nested";
  else if (tensor.is_mkldnn())
    kind = "opaque (mkldnn)";
  else if (!tensor.has_storage())
    kind = "without storage";
  else if (!tensor.device().is_cpu() && !tensor.device().is_cuda())
    kind = "on a device other than cpu and cuda";
  if (kind != nullptr)
    throw Error(ErrorCode::UnsupportedTensor, where,
                fmt::format("a tensor of dtype {} is {}", c10::toString(tensor.scalar_type()), kind),
                "Convert it to a dense tensor (to_dense(), dequantize()) before the call, or set "
                "Options::unsupported to Eager");
  check_undecorated(tensor, where);
}

OutsideWorld::~OutsideWorld() { restore(); }

Outsider* OutsideWorld::find(const at::Tensor& real) {
  auto found = index_.find(real.unsafeGetTensorImpl());
  return found == index_.end() ? nullptr : found->second;
}

Outsider* OutsideWorld::find(ir::ValueId value) {
  auto found = by_value_.find(value.index);
  return found == by_value_.end() ? nullptr : found->second;
}

Outsider& OutsideWorld::add(const at::Tensor& real, ir::Graph& graph) {
  check_capturable(real, "capture");
  if (leaves_hooks_ && is_fake_storage(real.storage()))
    throw Error(ErrorCode::UnsupportedTensor, "capture:set_data",
                "a tensor has got the data of one that has no contents yet by set_data()",
                "Use copy_() instead of set_data()");
  auto outsider = std::make_unique<Outsider>();
  outsider->tensor = real;
  const auto type = type_of(real, real.device());
  outsider->meta = make_meta(type);
  outsider->wrapped_number = real.unsafeGetTensorImpl()->is_wrapped_number();
  if (outsider->wrapped_number) outsider->meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  if (real.is_conj()) outsider->meta.unsafeGetTensorImpl()->_set_conj(true);
  if (real.is_neg()) outsider->meta.unsafeGetTensorImpl()->_set_neg(true);
  outsider->fake_storage = make_fake_storage(real.storage().nbytes(), real.device());
  outsider->value = graph.add_value(type);
  const bool is_hosts = is_hosts_ ? is_hosts_(real) : is_borrowed(real);
  if (leaves_hooks_ && is_hosts && real.nbytes() > kMaxCompared)
    throw Error(ErrorCode::UnsupportedTensor, "capture:from_blob",
                fmt::format("a tensor is over {} bytes of memory that the host may change", real.nbytes()),
                "Make the tensor outside the function and pass it as an argument, or clone() it first");
  if (is_hosts && real.nbytes() <= kMaxSnapshotBytes) {
    outsider->snapshot = contents_of(real);
    has_borrowed_ = true;
  }
  remember_state(*outsider, real, leaves_hooks_);
  index_[real.unsafeGetTensorImpl()] = outsider.get();
  by_value_[outsider->value.index] = outsider.get();
  all_.push_back(std::move(outsider));
  return *all_.back();
}

void OutsideWorld::check_unchanged(const Outsider& outsider) const {
  if (!outsider.snapshot || outsider.snapshot->size() > kMaxCompared) return;
  if (*contents_of(outsider.tensor) != *outsider.snapshot)
    throw Error(ErrorCode::UnsupportedOp, "capture:from_blob",
                "the host writes to memory under from_blob() after an op has used it",
                "Fill the memory before its first use, or clone() the tensor");
}

bool OutsideWorld::changed_by_ops_only() const {
  return std::all_of(all_.begin(), all_.end(), [](const auto& outsider) {
    if (!has_its_data(*outsider)) return false;
    const auto* meta = torch::autograd::impl::get_autograd_meta(outsider->tensor);
    if (meta == nullptr) return true;
    const bool has_hooks = meta->retains_grad_ || meta->cpp_hooks_list_ != nullptr || !meta->hooks_.empty();
    return meta->grad_.is_same(outsider->grad) && meta->requires_grad_ == outsider->is_set_to_require_grad &&
           (meta->grad_fn_ == outsider->grad_fn || (meta->grad_fn_ && !has_hooks));  // not by detach_()
  });
}

std::vector<const Outsider*> OutsideWorld::restore() {
  std::vector<const Outsider*> changed;
  if (restored_) return changed;
  restored_ = true;
  for (const auto& outsider : all_) {
    const bool data = restore_data(*outsider);
    const bool grad = restore_autograd(*outsider, !leaves_hooks_);
    if (data || grad) changed.push_back(outsider.get());
  }
  for (auto last = all_.rbegin(); last != all_.rend(); ++last) restore_histories(**last);
  return changed;
}

}  // namespace antegrad::capture
