#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "aot/signature/signature.h"
#include "util/byte_stream.h"

namespace antegrad::runtime {

/// The ambient state: settings of the thread that affect what ops do.
struct Ambient {
  uint64_t included_keys = 0;
  uint64_t excluded_keys = 0;
  bool grad_mode = false;
  bool inference_mode = false;
  bool deterministic = false;
  uint8_t kernel_flags = 0;  ///< which kernels LibTorch may choose for attention and norms, as bits
  bool autocast_cpu = false;
  bool autocast_cuda = false;
  c10::ScalarType autocast_cpu_dtype = c10::kFloat;
  c10::ScalarType autocast_cuda_dtype = c10::kFloat;
  c10::ScalarType default_dtype = c10::kFloat;

  static Ambient now();
  bool operator==(const Ambient&) const = default;

  void write(ByteWriter& out) const;
  static Ambient read(ByteReader& in);  ///< throws Error(Io) for invalid bytes
};
/// Says in words how the two differ.
std::string difference(const Ambient& captured, const Ambient& now);
/// Sets autocast, the default dtype and the deterministic flag as in `ambient`.
void restore(const Ambient& ambient);

/// While it lives, the thread's autocast settings are those of `ambient`.
class AmbientGuard {
 public:
  explicit AmbientGuard(const Ambient& ambient);
  ~AmbientGuard();
  AmbientGuard(const AmbientGuard&) = delete;
  AmbientGuard& operator=(const AmbientGuard&) = delete;

 private:
  Ambient before_;
  c10::ScalarType cpu_dtype_;  ///< of autocast, also where that is off
  c10::ScalarType cuda_dtype_;
};

/// What a captured graph assumes about one tensor.
class TensorGuard {
 public:
  explicit TensorGuard(const at::Tensor& tensor);
  bool holds(const at::Tensor& tensor) const;
  std::string failure(const at::Tensor& tensor) const;  ///< why it does not hold
  void ignore_grad() { guards_grad_ = false; }          ///< the function does not ask for the tensor's .grad
  /// The function reads no .grad of the tensor; it may have asked whether there is one.
  void ignore_grad_identity() { guards_which_grad_ = false; }
  void ignore_shape() { guards_shape_ = false; }  ///< sizes and strides are guarded elsewhere
  bool is_plain() const { return defined_ && plain_; }
  c10::IntArrayRef sizes() const { return sizes_; }  ///< at the capture
  c10::IntArrayRef strides() const { return strides_; }
  c10::ScalarType dtype() const { return dtype_.toScalarType(); }
  bool requires_grad() const { return requires_grad_; }
  bool is_on_cpu() const { return !defined_ || device_.is_cpu(); }
  /// The function has read the tensor's .grad: in another process there is no such tensor.
  bool names_grad() const { return guards_grad_ && guards_which_grad_ && has_grad_; }

  /// Leaves the .grad out: guards that are read back ignore it.
  void write(ByteWriter& out) const;
  static TensorGuard read(ByteReader& in);  ///< throws Error(Io) for invalid bytes

 private:
  TensorGuard() = default;
  bool same_grad(const c10::TensorImpl& impl) const;

  bool defined_ = false;
  c10::DispatchKeySet keys_;
  caffe2::TypeMeta dtype_;
  c10::Device device_ = c10::kCPU;
  bool requires_grad_ = false;
  bool wrapped_number_ = false;
  bool has_tangent_ = false;  ///< of forward-mode differentiation
  bool plain_ = true;         ///< dense and strided: it has sizes and strides to compare
  c10::SmallVector<int64_t, 5> sizes_, strides_;
  bool guards_shape_ = true;
  bool guards_grad_ = true;
  bool guards_which_grad_ = true;
  bool has_grad_ = false;
  c10::weak_intrusive_ptr<c10::TensorImpl> grad_{
      c10::intrusive_ptr<c10::TensorImpl>()};  ///< the .grad, which the function may have read
};

/// Returns "" when the tensors share memory exactly as the signature requires, else what differs.
std::string aliasing_failure(const aot::Signature& signature, c10::ArrayRef<at::Tensor> inputs,
                             const std::vector<int64_t>& captured_offsets);

}  // namespace antegrad::runtime
