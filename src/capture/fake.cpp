#include "capture/fake.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <algorithm>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "aten/data_access.h"
#include "capture/mode.h"
#include "capture/recorder.h"

namespace antegrad::capture {
namespace {

c10::DispatchKeySet keys_for(c10::Device device, const at::Tensor& meta) {
  c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  if (meta.is_conj()) keys = keys.add(c10::DispatchKey::Conjugate);
  if (meta.is_neg()) keys = keys.add(c10::DispatchKey::Negative);
  return keys;
}

/// Fake storages are recognised by their allocator: nothing else uses this one.
struct NoAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t) override { return {nullptr, c10::Device(c10::kCPU)}; }
  void copy_data(void*, const void*, size_t) const override {}
};
NoAllocator no_allocator;

/// Prefix of the message of every access to a fake's data.
constexpr const char* kDataAccessPrefix = "[capture:data_ptr]";

}  // namespace

void FakeRegistry::add(FakeTensor* fake) {
  const std::scoped_lock lock(mutex_);
  fakes_.insert(fake);
}

void FakeRegistry::remove(FakeTensor* fake) {
  const std::scoped_lock lock(mutex_);
  fakes_.erase(fake);
}

int64_t FakeRegistry::size() const {
  const std::scoped_lock lock(mutex_);
  return std::count_if(fakes_.begin(), fakes_.end(),
                       [](FakeTensor* fake) { return c10::raw::intrusive_ptr::use_count(fake) > 0; });
}

std::vector<at::Tensor> FakeRegistry::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<at::Tensor> tensors;
  for (auto* fake : fakes_)  // one that only weak references hold is gone: retain_grad() makes such
    if (c10::raw::intrusive_ptr::use_count(fake) > 0)
      tensors.emplace_back(c10::intrusive_ptr<c10::TensorImpl>::unsafe_reclaim_from_nonowning(fake));
  return tensors;
}

FakeTensor::FakeTensor(c10::Storage storage, at::Tensor meta, c10::Device device, uint64_t capture_id,
                       ir::ValueId value, std::shared_ptr<FakeRegistry> registry)
    : TensorImpl(std::move(storage), keys_for(device, meta), meta.dtype()),
      meta_(std::move(meta)),
      capture_id_(capture_id),
      value_(value),
      registry_(std::move(registry)) {
  registry_->add(this);
  take_metadata_of_twin();
}

FakeTensor::FakeTensor(c10::Storage storage, const ir::TensorType& type, uint64_t capture_id,
                       ir::ValueId value, std::shared_ptr<FakeRegistry> registry)
    : TensorImpl(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                 c10::scalarTypeToTypeMeta(aten::to_torch(type.dtype))),
      capture_id_(capture_id),
      value_(value),
      registry_(std::move(registry)) {
  registry_->add(this);
  c10::SmallVector<int64_t, 6> sizes, strides;
  for (const auto& size : type.sizes) sizes.push_back(size.constant());
  for (const auto& stride : type.strides) strides.push_back(stride.constant());
  set_sizes_and_strides(sizes, strides, type.offset.constant());
}

void FakeTensor::take_metadata_of_twin() {
  const auto* twin = meta_.unsafeGetTensorImpl();
  set_sizes_and_strides(twin->sizes(), twin->strides(), twin->storage_offset());
  if (twin->is_wrapped_number()) set_wrapped_number(true);
}

void FakeTensor::rebind(ir::ValueId value, c10::Storage storage, bool is_new) {
  value_ = value;
  rebound_ = rebound_ || !is_new;
  storage_ = std::move(storage);
  data_type_ = meta_.dtype();
  take_metadata_of_twin();
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensor::shallow_copy_and_detach(
    const c10::VariableVersion& version_counter, bool allow_tensor_metadata_change) const {
  if (!is_fake_storage(storage_))
    return TensorImpl::shallow_copy_and_detach(version_counter, allow_tensor_metadata_change);
  // A result that autograd wraps once more, as opposed to data().
  auto copy = Recorder::alias_of(*this, /*is_result=*/allow_tensor_metadata_change);
  if (!copy->is_inference()) copy->set_version_counter(version_counter);
  copy->set_allow_tensor_metadata_change(allow_tensor_metadata_change);
  return copy;
}

c10::intrusive_ptr<c10::TensorImpl> FakeTensor::shallow_copy_and_detach(
    c10::VariableVersion&& version_counter, bool allow_tensor_metadata_change) const {
  return shallow_copy_and_detach(static_cast<const c10::VariableVersion&>(version_counter),
                                 allow_tensor_metadata_change);
}

void FakeTensor::become(const at::Tensor& real) {
  storage_ = real.storage();
  set_sizes_and_strides(real.sizes(), real.strides(), real.storage_offset());
}

bool FakeTensor::has_storage() const {
  if (auto* access = registry_->access.load(std::memory_order_relaxed))
    access->on_access(const_cast<FakeTensor&>(*this));
  else if (auto* recorder = active_recorder();
           recorder != nullptr && recorder->id() != capture_id_ && !is_fake_storage(storage_))
    aten::tell_of_access(*this, __builtin_return_address(0));  // an ordinary tensor since an earlier capture
  return TensorImpl::has_storage();
}

void FakeTensor::shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& source) {
  has_storage();  // where data can be had, the tensor is an ordinary one from here on
  if (!is_fake_storage(storage_)) return TensorImpl::shallow_copy_from(source);
  throw Error(ErrorCode::UnsupportedOp, "capture:set_data",
              "a tensor is given the data of another one by set_data()", "Use copy_() or set_() instead");
}

FakeTensor* as_fake(const at::Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  auto* fake = dynamic_cast<FakeTensor*>(tensor.unsafeGetTensorImpl());
  return fake != nullptr && is_fake_storage(fake->storage()) ? fake : nullptr;
}

bool is_fake_storage(const c10::Storage& storage) { return storage.allocator() == &no_allocator; }

c10::Storage make_fake_storage(size_t bytes, c10::Device device) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device), &no_allocator,
                       true);
  forbid_data_access(storage);
  return storage;
}

const char* text_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

std::string first_line(const std::exception& error) {
  const std::string text = text_of(error);
  return text.substr(0, text.find('\n'));
}

bool is_data_access(const std::exception& error) {
  return std::string_view(text_of(error)).find(kDataAccessPrefix) != std::string_view::npos;
}

void forbid_data_access(const c10::Storage& storage) {
  static const auto& message = *new const std::optional<std::string>(fmt::format(
      "{} the data of a tensor is read that exists only while a function is captured", kDataAccessPrefix));
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(message);
}

}  // namespace antegrad::capture
