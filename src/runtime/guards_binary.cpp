// The binary form of guards, for packages.
#include <fmt/format.h>

#include "antegrad/error.h"
#include "runtime/guards.h"

namespace antegrad::runtime {
namespace {

constexpr size_t kMostDims = 64;

[[noreturn]] void refuse(const std::string& fact) {
  throw Error(ErrorCode::Io, "package", fmt::format("a guard cannot be read: {}", fact),
              "Make the package again");
}

void write(ByteWriter& out, c10::IntArrayRef numbers) {
  out.count(numbers.size());
  for (const auto number : numbers) out.signed_varint(number);
}

void read(ByteReader& in, c10::SmallVector<int64_t, 5>& numbers) {
  const auto count = in.count(1);
  if (count > kMostDims) refuse(fmt::format("a tensor has {} dimensions", count));
  for (size_t i = 0; i < count; ++i) numbers.push_back(in.signed_varint());
}

c10::ScalarType read_dtype(ByteReader& in) {
  const auto type = in.u8();
  if (type >= static_cast<uint8_t>(c10::ScalarType::NumOptions)) refuse(fmt::format("dtype {}", type));
  return static_cast<c10::ScalarType>(type);
}

}  // namespace

void Ambient::write(ByteWriter& out) const {
  out.u64(included_keys);
  out.u64(excluded_keys);
  out.u8(kernel_flags);
  for (const bool flag : {grad_mode, inference_mode, deterministic, autocast_cpu, autocast_cuda})
    out.flag(flag);
  for (const auto type : {autocast_cpu_dtype, autocast_cuda_dtype, default_dtype})
    out.u8(static_cast<uint8_t>(type));
}

Ambient Ambient::read(ByteReader& in) {
  Ambient ambient;
  ambient.included_keys = in.u64();
  ambient.excluded_keys = in.u64();
  ambient.kernel_flags = in.u8();
  for (auto* flag : {&ambient.grad_mode, &ambient.inference_mode, &ambient.deterministic,
                     &ambient.autocast_cpu, &ambient.autocast_cuda})
    *flag = in.flag();
  for (auto* type : {&ambient.autocast_cpu_dtype, &ambient.autocast_cuda_dtype, &ambient.default_dtype})
    *type = read_dtype(in);
  if (in.failed()) refuse("its settings are cut off");
  return ambient;
}

void TensorGuard::write(ByteWriter& out) const {
  out.flag(defined_);
  if (!defined_) return;
  out.u64(keys_.raw_repr());
  out.u8(static_cast<uint8_t>(dtype_.toScalarType()));
  out.u8(static_cast<uint8_t>(device_.type()));
  out.u8(static_cast<uint8_t>(device_.index()));
  for (const bool flag : {requires_grad_, wrapped_number_, has_tangent_, plain_, guards_shape_})
    out.flag(flag);
  runtime::write(out, sizes_);
  runtime::write(out, strides_);
}

TensorGuard TensorGuard::read(ByteReader& in) {
  TensorGuard guard;
  guard.guards_grad_ = guard.guards_which_grad_ = false;
  guard.defined_ = in.flag();
  if (!guard.defined_) return guard;
  guard.keys_ = c10::DispatchKeySet(c10::DispatchKeySet::RAW, in.u64());
  guard.dtype_ = c10::scalarTypeToTypeMeta(read_dtype(in));
  const auto type = in.u8();
  const auto index = static_cast<int8_t>(in.u8());
  if (type != static_cast<uint8_t>(c10::kCPU) || index < -1 || index > 0)
    refuse(fmt::format("device {}:{}", type, index));
  guard.device_ = c10::Device(static_cast<c10::DeviceType>(type), index);
  for (auto* flag : {&guard.requires_grad_, &guard.wrapped_number_, &guard.has_tangent_, &guard.plain_,
                     &guard.guards_shape_})
    *flag = in.flag();
  runtime::read(in, guard.sizes_);
  runtime::read(in, guard.strides_);
  if (in.failed() || guard.sizes_.size() != guard.strides_.size()) refuse("it is cut off");
  return guard;
}

}  // namespace antegrad::runtime
