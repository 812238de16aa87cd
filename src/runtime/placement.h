#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "runtime/index_checks.h"
#include "runtime/instructions.h"
#include "schedule/program.h"

namespace antegrad::runtime {

/// A tensor that must exist before a step runs.
struct Birth {
  int32_t slot = 0;
  ir::ValueId value;
  int64_t arena_offset = -1;  ///< its memory in the arena; -1: memory of its own …
  int32_t donor = -1;         ///< … or that of this register, when nobody else holds it; -1: none
};

/// Where the values of a program are during a run. What leaves the run, and what is large, has memory of its
/// own, for just as long as it is needed; the rest is in the arena, which is there while something is in it.
struct Placement {
  struct OfValue {
    int64_t arena_offset = -1;  ///< -1: not in the arena
    int32_t last_use = -1;      ///< the step; -1: none
  };
  struct OfStep {
    std::vector<Birth> births;
    std::vector<int32_t> dying;  ///< registers that no later step reads
    bool writes_out = false;     ///< a node whose call writes into its birth
    int64_t arena_begin = 0;     ///< bytes that are needed from here on; 0: no change
    bool arena_end = false;      ///< no later step needs what is in the arena
  };
  RegisterMap register_of;  ///< -1: no tensor is needed
  ir::PerValue<OfValue> values;
  std::vector<OfStep> steps;
  int32_t registers = 0;
  int64_t arena_bytes = 0;            ///< at most
  std::optional<IndexChecks> checks;  ///< where some kernel may fail
};

struct PlacementOptions {
  std::vector<int64_t> symbols;  ///< the values of those that kernels name
};

Placement place(const schedule::Program& program, const PlacementOptions& options = {});

/// The buffers of a kernel that a RunKernel has values for: all but scratch.
std::vector<int32_t> passed_buffers(const schedule::Kernel& kernel);
/// How many bytes a dense tensor of the type takes.
int64_t bytes_of(const ir::TensorType& type);

}  // namespace antegrad::runtime
