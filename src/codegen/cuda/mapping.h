#pragma once
// How a kernel runs on the threads of a CUDA device.
#include <string>
#include <vector>

#include "schedule/device_facts.h"
#include "schedule/kernel.h"

namespace antegrad::codegen::cuda {

constexpr int32_t kWarp = 32;

/// Data, like kernels: printed, compared, a function of the kernel and of facts about the device only.
///
/// A kernel is launched once, with `blocks` blocks of `threads` threads (x only) and `shared_bytes` of
/// dynamic shared memory; not at all if `blocks` is 0. Before that, the buffers in Kernel::clear are set to
/// zero.
struct Mapping {
  enum class Form : uint8_t {
    Flat,     ///< every iteration of all loops is independent: one for a thread, or `vector` * `unroll`
    Rows,     ///< the neighbouring `threads_per_row` threads run a unit, `rows_per_block` units at a time
    Columns,  ///< the same, but neighbouring threads run neighbouring units
    All       ///< kernels without outer loops that combine everything: all threads of the grid
  } form = Form::Flat;
  int32_t threads = 256;  ///< of a block
  int32_t threads_per_row = 1;
  int32_t rows_per_block = 1;
  int32_t vector = 1;  ///< elements of the fastest loop that a thread loads and stores at once
  int32_t unroll = 1;  ///< vectors that a thread loads before it computes
  /// Rows: iterations of the section that a block runs of each row, the others being for other blocks; 0 for
  /// all of them. Only for kernels whose one section combines columns and nothing else.
  int32_t tile = 0;
  /// Blocks that a multiprocessor must have registers for at a time; 0 if it does not matter.
  int32_t resident = 0;
  bool keep = false;     ///< Rows: what several sections load, and scratch memory, is kept in registers
  bool wide = false;     ///< positions have 64 bits
  ir::Dim blocks;        ///< of the grid
  ir::Dim shared_bytes;  ///< of a block
  /// Buffers (positions in Kernel::buffers) whose pointers must be multiples of 16 bytes.
  std::vector<int32_t> aligned;
  std::vector<Mapping> parts;  ///< of a kernel with parts, which one block runs (one_block.h)
  bool operator==(const Mapping&) const = default;
};

/// Maps a kernel whose device is CUDA. Without `vectorise` nothing need be aligned: the variant for pointers
/// that are not.
///
/// An output may take over the memory of an input as runtime/plan/overwrite.h says, except in Form::Flat and
/// Form::All, where sections do not run one after the other: there only if both are accessed in one section.
Mapping map_kernel(const schedule::Kernel& kernel, const schedule::DeviceFacts& facts, bool vectorise = true);

std::string to_string(const Mapping& mapping);

}  // namespace antegrad::codegen::cuda
