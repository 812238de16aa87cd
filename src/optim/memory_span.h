#pragma once
#include <ATen/core/Tensor.h>

namespace antegrad::optim {

/// A range of addresses.
struct MemorySpan {
  const char *begin = nullptr, *end = nullptr;
  bool operator==(const MemorySpan&) const = default;
  bool meets(const MemorySpan& other) const { return begin < other.end && other.begin < end; }
};

/// The whole storage of a tensor. Tensors of different storages may share memory too: from_blob().
inline MemorySpan storage_span(const at::Tensor& tensor) {
  const auto* begin = static_cast<const char*>(tensor.storage().data());
  return {begin, begin + tensor.storage().nbytes()};
}

}  // namespace antegrad::optim
