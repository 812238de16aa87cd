#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <utility>

namespace antegrad::compiler {

/// What tells whether a captured tensor still has the contents that were made constants: its memory, its
/// version counter and, for writes that this does not count (`.data()`, LibTorch's optimizers), its gradient,
/// which training changes, and some of its elements, from the first to the last.
class FrozenContents {
 public:
  /// Whether writes to a tensor can be noticed: it has memory to look at, and a version counter.
  static bool can_watch(const at::Tensor& tensor);
  explicit FrozenContents(const at::Tensor& tensor);
  /// Returns a tensor on the memory as it was found, however the object has been changed since; once.
  at::Tensor take_tensor() { return std::move(tensor_); }
  /// `tensor` has the sizes and strides that it had.
  bool hold(const at::Tensor& tensor) const;

 private:
  static constexpr size_t kSamples = 8;
  struct State {
    const void* storage = nullptr;
    const void* data = nullptr;
    int64_t version = 0;
    const void* grad = nullptr;
    int64_t version_of_grad = 0;
    std::array<std::array<uint64_t, 2>, kSamples> samples{};  ///< as wide as the widest dtype
    bool operator==(const State&) const = default;
  };
  State now(const at::Tensor& tensor) const;

  std::array<int64_t, kSamples> offsets_{};  ///< in bytes
  size_t width_ = 0;                         ///< bytes of a sample; 0: none are taken
  // Weak references, so that no other object gets the address of one that is gone.
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::weak_intrusive_ptr<c10::TensorImpl> grad_;
  State state_;
  at::Tensor tensor_;
};

}  // namespace antegrad::compiler
