#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/in_place.h"
#include "runtime/plan/index_checks.h"
#include "schedule/program.h"

namespace antegrad::runtime {

using RegisterMap = ir::PerValue<int32_t>;  ///< -1 where there is none

/// A tensor that is created before a step runs.
struct Allocation {
  int32_t slot = 0;
  ir::ValueId value;
  int64_t arena_offset = -1;  ///< its memory in the arena; -1: memory of its own …
  int32_t donor = -1;         ///< … or that of this register, if nobody else holds it; -1: none
};

/// Where the values of a program are during a run. Values that leave the run and large values have memory of
/// their own, just as long as they are needed. The others are in the arena, which exists while something is
/// in it.
struct Placement {
  struct OfValue {
    int64_t arena_offset = -1;  ///< -1: not in the arena
    int32_t last_use = -1;      ///< the last step that uses it; -1: none
  };
  struct OfStep {
    std::vector<Allocation> births;
    std::vector<int32_t> dying;  ///< registers that no later step reads
    bool writes_out = false;     ///< the call writes into the tensor created for it
    int64_t arena_begin = 0;     ///< size of the arena that begins here; 0: none does
    bool arena_end = false;      ///< the arena ends after this step
  };
  /// Where the arena is: the device of kernels for CUDA if there are any, else the CPU. Values on other
  /// devices have memory of their own.
  ir::Device device;
  RegisterMap register_of;  ///< -1 where no tensor is needed
  ir::PerValue<OfValue> values;
  std::vector<OfStep> steps;
  int32_t registers = 0;
  int64_t arena_bytes = 0;  ///< largest size of the arena
  IndexChecksPtr checks;    ///< set where some kernel may fail
  /// Registers of results that are written to the memory of an input, and of that input.
  std::vector<std::pair<int32_t, int32_t>> adoptions;
};

struct PlacementOptions {
  std::vector<int64_t> symbols;  ///< the values of symbols that kernels refer to
  IndexChecksPtr checks;         ///< index_checks() of the program at any sizes; null: not known yet
  /// As plan_in_place() made it. All memory that the steps from its first one on need exists before that one
  /// runs.
  InPlacePlan in_place = {};
};

Placement place(const schedule::Program& program, const PlacementOptions& options = {});

/// A call of LibTorch that can write its result into an existing tensor.
enum class OutOp : uint8_t { Mm, Bmm, Addmm, Baddbmm, Cat };
/// Returns which of them the node is; nothing for other nodes, and for results that need memory of another
/// kind.
std::optional<OutOp> out_op(const ir::Node& node, const ir::Graph& graph);

/// Returns the buffers of a kernel for which a RunKernel has values: all but scratch.
std::vector<int32_t> passed_buffers(const schedule::Kernel& kernel);
/// Returns how many bytes a dense tensor of the type takes.
int64_t bytes_of(const ir::TensorType& type);

}  // namespace antegrad::runtime
