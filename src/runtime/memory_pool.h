#pragma once
#include <c10/core/Allocator.h>

#include <cstddef>

namespace antegrad::runtime {

/// Large blocks of CPU memory that are kept when they are given back, so that the next step of training does
/// not have the operating system clear the same pages again. Process-wide, thread-safe. What is in use and
/// what is kept are together never more than what was lately in use at once.
namespace memory_pool {

/// Less than this is what allocators are quick at: it is not kept.
constexpr size_t kSmallest = 128 * 1024;

/// Aligned to kAlignment. Kept blocks are used again where they are about as large.
at::DataPtr allocate(size_t bytes);

struct Statistics {
  size_t used = 0;      ///< bytes that were given out
  size_t kept = 0;      ///< bytes that wait for the next request
  uint64_t reused = 0;  ///< requests that a kept block served
  uint64_t fresh = 0;   ///< requests that needed new memory
};
Statistics statistics();

/// Gives all kept blocks back to the allocator.
void clear();

}  // namespace memory_pool
}  // namespace antegrad::runtime
