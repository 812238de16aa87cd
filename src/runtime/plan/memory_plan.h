#pragma once
#include <cstdint>
#include <vector>

namespace antegrad::runtime {

constexpr int64_t kAlignment = 64;
/// Values of at least this many bytes have memory of their own, and blocks of at least this size are kept
/// when they are freed (memory_pool.h): allocators are fast for smaller ones.
constexpr int64_t kSmallestPooled = 128 * 1024;

/// Memory that is needed from step `begin` to step `end`, both included.
struct Block {
  int64_t bytes = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  ///< per block, aligned
  int64_t bytes = 0;             ///< in total
};

/// Places blocks so that those needed at the same time do not overlap: the largest first, each into the
/// tightest gap that it fits into.
MemoryPlan plan_memory(const std::vector<Block>& blocks);

}  // namespace antegrad::runtime
