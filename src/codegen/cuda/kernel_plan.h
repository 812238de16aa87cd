#pragma once
// Where a kernel's values live while it runs: registers, shared memory, or buffers.
#include "codegen/cuda/section_plan.h"

namespace antegrad::codegen::cuda {

/// What an Accumulate combines into while the chunk runs.
struct Accumulator {
  enum class Place : uint8_t {
    Variable,   ///< of each thread: all iterations combine into one number
    Registers,  ///< of each thread: one for each of its elements of a row
    Shared,     ///< `count` for each row of the block
    Global      ///< the chunk's part of the buffer itself
  } place = Place::Variable;
  size_t section = 0, op = 0;
  ir::DType type = ir::DType::F32;
  ir::Dim count = 1;
  int64_t offset = 0;  ///< Shared: of the bytes in shared memory
};

/// Elements of a row that a thread keeps in registers from one section to the next: `trips` vectors.
struct Keep {
  ir::DType dtype = ir::DType::F32;
  int32_t trips = 0, vector = 1;
  bool prefetched = false;  ///< one section reads them, and an earlier one loads them

  int64_t bytes() const { return ir::size_in_bytes(dtype) * trips * vector; }
};

struct KernelPlan {
  std::vector<SectionPlan> sections;
  std::vector<Keep> keeps;
  std::vector<Accumulator> accumulators;  ///< in order of their ops
  std::vector<int64_t> scratch;           ///< per buffer: its offset in shared memory; -1 if it is not there
  int64_t slots = 0;  ///< the offset of the memory that threads exchange partial results in
  /// Per section: the offset in that memory of its partial results. Those of different sections do not
  /// overlap, so that a thread may go on to the next section while others still read.
  std::vector<int64_t> slots_of;
  int32_t combinations = 0;  ///< sections that combine partial results of a row
  int64_t shared_bytes = 0;

  const schedule::Op& op(const Accumulator& one) const { return sections[one.section].ops[one.op]; }
};

KernelPlan plan_kernel(const schedule::Kernel& kernel, const Mapping& mapping);

/// Returns the type in which a Reduce combines; a bool is an i32.
ir::DType reduced_type(const schedule::Op& op);

}  // namespace antegrad::codegen::cuda
