#pragma once
// Shared between writing and reading of the binary form.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/dim.h"

namespace antegrad::ir {

// Flags before a tensor type: which members are omitted.
constexpr uint8_t kPacked = 1;  ///< row-major strides
/// The last attribute of a node that acts on a resource: nodes without one keep the bytes of format 1.
inline constexpr std::string_view kResourceAttr = "antegrad.resource";
constexpr uint8_t kPlainDevice = 2;  ///< the current CPU device
constexpr uint8_t kAtStart = 4;      ///< offset 0

// Flags before a graph: which parts follow.
constexpr uint8_t kNames = 1;
constexpr uint8_t kScopes = 2;

/// Flags before a node: its Boolean members, and which of its lists are not empty.
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

/// Longer strings are written in full each time, so that a few bytes cannot expand to much memory.
constexpr size_t kMaxKnownString = 255;

/// Calls fn(dim, stride) with the strides of a row-major tensor, starting at the last dim, as long as it
/// returns true. Returns false if a call did, a size is not constant, or a stride overflows.
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
