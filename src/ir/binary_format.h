#pragma once
// What writing and reading of the binary form share.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/dim.h"

namespace antegrad::ir {

// Bits in front of a tensor type: what is left out.
constexpr uint8_t kPacked = 1;       ///< strides are those of a row-major tensor
constexpr uint8_t kPlainDevice = 2;  ///< the current CPU
constexpr uint8_t kAtStart = 4;      ///< the offset is 0

// Bits in front of a graph: which parts follow.
constexpr uint8_t kNames = 1;
constexpr uint8_t kScopes = 2;

/// Bits in front of a node: flags, and which of its members are not empty.
enum NodeBit : uint8_t {
  kFunctional = 1,
  kRandom = 2,
  kOrdered = 4,
  kBackward = 8,
  kAttrs = 16,
  kReturns = 32,
  kWrites = 64,
  kRoots = 128
};

/// Longer strings are written in full each time, so that no few bytes stand for much memory.
constexpr size_t kMaxKnownString = 255;

/// Calls fn(dim, stride), from the last dim on, with the strides of a row-major tensor, while it returns
/// true. False: it did not, a size is no constant, or a stride does not fit.
template <class Fn>
bool for_packed_strides(const std::vector<Dim>& sizes, Fn&& fn) {
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (!sizes[dim].is_constant() || !fn(dim, stride)) return false;
    const int64_t size = sizes[dim].constant();
    if (size > 1 && __builtin_mul_overflow(stride, size, &stride)) return false;
  }
  return true;
}

}  // namespace antegrad::ir
