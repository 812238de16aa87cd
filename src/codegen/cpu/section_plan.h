#pragma once
// Decides where each op of a section is printed, before any text is generated.
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

/// The variable or memory that a Reduce or an Accumulate combines into while loops run.
struct Target {
  enum class Form : uint8_t {
    Plain,    ///< a variable of `type`, or one per lane
    Blocked,  ///< a number per block of iterations, and more digits over all blocks
    Ordered,  ///< an integer with the order of the floating-point number, whose maximum compilers vectorise
    Direct    ///< the accumulator of the chunk itself
  };
  size_t op = 0;  ///< its index in the section
  int depth = 0;  ///< the number of loops around it
  Form form = Form::Plain;
  ir::DType type = ir::DType::F32;
  bool per_lane = false;
  std::string name;         ///< the variable that the innermost loop combines into
  std::string accumulator;  ///< Accumulate: the variable or pointer for the chunk's memory
  std::string total;        ///< Blocked: the name of the double over all blocks
  std::string rest;         ///< Blocked sum of doubles: the name of what rounding has taken from the total
};

/// A checked index from a tensor; one per distinct (index, size, wraps).
struct Position {
  schedule::Indirect part;
  int depth = 0;
  std::string name;
};

/// The loop at `level` runs in blocks of `step` iterations; -1 when none does.
struct Block {
  int level = -1;
  int64_t step = 0;
};

/// Depth d is the body of the d-th loop of the nest; 0 is before all loops. Ops that do not depend on inner
/// loops are printed outside of them; ops with effects are printed in the innermost loop.
struct SectionPlan {
  const schedule::Section* section = nullptr;
  std::vector<int32_t> nest;  ///< loops of the section, then the lane loop
  std::vector<int> depth;     ///< of each op
  std::vector<Position> positions;
  std::vector<Target> targets;
  std::vector<size_t> tiled;  ///< Random ops whose numbers are generated before the innermost loop
  int64_t tile = 0;           ///< the most iterations for which they are generated at once
  Block block;
  bool simd = false;        ///< iterations of the innermost loop are independent except for reductions
  int owner_position = -1;  ///< in an owner kernel: the position that all effects of the section address

  int depth_of_loops() const { return static_cast<int>(nest.size()); }
  size_t find_position(const schedule::Indirect& part) const;  ///< positions.size() when there is none
};

struct KernelPlan {
  std::vector<SectionPlan> sections;
  std::vector<ir::DType> types;  ///< of each scalar
  std::vector<bool> per_lane;    ///< scalars that are per-lane arrays
};

KernelPlan plan_kernel(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cpu
