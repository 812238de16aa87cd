#pragma once
#include <c10/core/Allocator.h>

#include <cstddef>

namespace antegrad::runtime {

/// Keeps large blocks of CPU memory when they are freed, so that the operating system does not have to clear
/// the same pages again in the next training step. Process-wide, thread-safe. Used and kept blocks together
/// never exceed the recent peak of used ones.
namespace memory_pool {

/// Returns memory aligned to kAlignment: a kept block where one is about as large, else new memory. Blocks
/// smaller than kSmallestPooled are not kept.
at::DataPtr allocate(size_t bytes);

struct Statistics {
  size_t used = 0;      ///< bytes in use
  size_t kept = 0;      ///< bytes kept for later requests
  uint64_t reused = 0;  ///< requests served by a kept block
  uint64_t fresh = 0;   ///< requests served by new memory
};
Statistics statistics();

/// Frees all kept blocks.
void clear();

}  // namespace memory_pool
}  // namespace antegrad::runtime
