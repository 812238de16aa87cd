#pragma once
// Where each op of a section is printed: decided before any text is made.
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::codegen::cpu {

/// What a Reduce or an Accumulate combines into while loops run.
struct Target {
  enum class Form : uint8_t {
    Plain,    ///< a variable of `type`, or one per lane
    Widened,  ///< a float per block of iterations, and a double for all blocks
    Ordered,  ///< an integer that orders like the floating point number: compilers vectorise its maximum
    Direct    ///< the accumulator of the chunk itself
  };
  size_t op = 0;  ///< in the section
  int depth = 0;  ///< how many loops it stands inside of
  Form form = Form::Plain;
  ir::DType type = ir::DType::F32;
  bool per_lane = false;
  std::string name;         ///< of the variable that the innermost loop combines into
  std::string accumulator;  ///< Accumulate: what stands for the chunk's memory
  std::string total;        ///< Widened: of the double
};

/// An index read from a tensor, checked: one per different (index, size, wraps).
struct Position {
  schedule::Indirect part;
  int depth = 0;
  std::string name;
};

/// The loop at `level` runs in blocks of `step` iterations. -1: none does.
struct Block {
  int level = -1;
  int64_t step = 0;
};

/// Depth d is the body of the d-th loop of the nest; 0 is before all loops. What does not depend on inner
/// loops is printed outside of them; what has an effect stands in the innermost.
struct SectionPlan {
  const schedule::Section* section = nullptr;
  std::vector<int32_t> nest;  ///< loops of the section, then the lane
  std::vector<int> depth;     ///< of each op
  std::vector<Position> positions;
  std::vector<Target> targets;
  std::vector<size_t> tiled;  ///< Random ops whose numbers are made before the innermost loop, for
  int64_t tile = 0;           ///< … so many iterations at most
  Block block;
  bool simd = false;  ///< iterations of the innermost loop do not depend on each other, reductions aside
  int owner_position = -1;  ///< the position that all effects of the section go to, in an owner kernel

  int depth_of_loops() const { return static_cast<int>(nest.size()); }
  size_t find_position(const schedule::Indirect& part) const;  ///< positions.size() when there is none
};

struct KernelPlan {
  std::vector<SectionPlan> sections;
  std::vector<ir::DType> types;  ///< of each scalar
  std::vector<bool> per_lane;    ///< scalars that are arrays over the lanes
};

KernelPlan plan_kernel(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cpu
