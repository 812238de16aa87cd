#include "schedule/target.h"

namespace antegrad::schedule {

Target cpu_target() { return {}; }

Target cuda_target(const DeviceFacts& facts, bool deterministic) {
  Target target;
  target.device = ir::Device::Kind::Cuda;
  target.facts = facts;
  target.scatter = deterministic ? Target::Scatter::LibTorch : Target::Scatter::Atomic;
  target.joins_siblings = true;
  target.scratch_bytes = facts.shared_per_block / 2;
  // A block reduces this much faster than two kernels are launched.
  target.small_reduction = 32768;
  // Chunks are the blocks of a grid that fills the device, all of which run at a time. A few large ones have
  // few partial results for another kernel to combine.
  const int64_t blocks = int64_t{2} * facts.multiprocessors;
  target.elements_per_chunk = 4096;
  target.most_chunks = blocks;
  target.rows_per_chunk = int64_t{1} << 40;  // rows of a chunk are divided among many threads
  target.least_column_chunks = facts.multiprocessors;
  target.most_column_chunks = blocks;
  target.partial_elements = int64_t{1} << 21;
  return target;
}

}  // namespace antegrad::schedule
