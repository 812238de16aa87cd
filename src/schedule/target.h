#pragma once
#include <cstdint>

#include "ir/types.h"
#include "schedule/device_facts.h"

namespace antegrad::schedule {

/// The limits that a device sets to fusion and to the division of work. They change which kernels are made,
/// never their results, except for the order in which floats are added.
struct Target {
  ir::Device::Kind device = ir::Device::Kind::Cpu;
  DeviceFacts facts;  ///< of a CUDA device

  /// How kernels scatter: each unit of work to positions of its own, or all of them with atomics, which
  /// combine in any order; or LibTorch does.
  enum class Scatter : uint8_t { Owner, Atomic, LibTorch } scatter = Scatter::Owner;
  /// The most bytes that a unit of work keeps for its later sections; 0 for no limit.
  int64_t scratch_bytes = 0;

  // --- what one kernel holds; beyond this, compile time grows faster than run time shrinks
  int64_t most_items = 128;
  int64_t most_expensive = 24;  ///< items that inline to long code
  /// Whether kernels that only read the same result of LibTorch's become one, and sums that are finished
  /// alike: each launch and each reading of memory costs more than what one kernel for both may lose.
  bool joins_siblings = false;

  // --- loops
  int64_t least_inner = 16;  ///< the fewest iterations of an inner loop that are worth vectorising
  int64_t long_row = 128;  ///< rows from this length on hide expensive scalar work that is done once per row
  int64_t small_reduction = 8192;  ///< the most elements for one thread to reduce alone

  // --- chunks of reductions, which run in parallel and are combined by another kernel
  int64_t elements_per_chunk = 8192;
  int64_t most_chunks = 32;          ///< of a reduction to one number
  int64_t rows_per_chunk = 64;       ///< of a sum of columns: floats are added one after the other
  int64_t least_column_chunks = 64;  ///< what the number of chunks of columns may always be
  int64_t most_column_chunks = 1 << 15;
  int64_t partial_elements = 1 << 20;  ///< of partial results of columns, over all chunks
};

/// The processor that the program runs on.
Target cpu_target();
/// A CUDA device. `deterministic` leaves scatters to LibTorch, since atomics add floats in any order.
Target cuda_target(const DeviceFacts& facts, bool deterministic = false);

}  // namespace antegrad::schedule
