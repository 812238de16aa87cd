#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "ir/graph.h"

namespace antegrad::partition {

/// A value that goes from the forward to the backward pass. Exactly one of the two is set.
struct Saved {
  int32_t input = -1;   ///< an input of the joint graph, kept as the tensor it is
  int32_t output = -1;  ///< an output of the forward graph
  bool operator==(const Saved&) const = default;
};

/// What was decided for one value that the backward pass could read, and why.
struct Decision {
  ir::ValueId value;  ///< in the joint graph
  std::string op;     ///< that computes it; "input" for an input
  std::string scope;
  int64_t bytes = 0;
  bool saved = false;
  std::string reason;  ///< for people: "product of matrices", "cheaper to keep than its 2 inputs", …
};

struct PeakEstimate {
  int64_t forward = 0;   ///< the most bytes that the forward graph has allocated at any time
  int64_t backward = 0;  ///< likewise, saved values included
  int64_t peak() const { return forward > backward ? forward : backward; }
};

struct Partition {
  ir::Graph forward;  ///< Stage::Forward: all inputs of the joint graph but the tangents; its outputs but the
                      ///< gradients, in their order, then what is saved and no output yet
  ir::Graph backward;        ///< Stage::Backward: saved values, then tangents; outputs: the gradients
  std::vector<Saved> saved;  ///< in the order of the backward graph's inputs
  std::vector<Decision> decisions;
  int64_t saved_bytes = 0;  ///< inputs not counted
  PeakEstimate peak;
};

/// What the plan is for.
struct Target {
  bool fuses =
      false;  ///< chains of pointwise ops take no memory between them, so computing them again is free
  /// Inputs that eager does not read in its backward pass may be written to before ours: copies are saved.
  bool writable_inputs = true;
};

/// Splits a joint graph. Throws Error(InvalidArgument) when no plan fits a budget, naming the smallest one.
Partition partition(const ir::Graph& joint, const Policy& policy = MinCut{},
                    const std::vector<ScopeRule>& rules = {}, const Target& target = {});

/// Replays the allocations of both graphs.
PeakEstimate estimate_peak(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved);

/// What the two graphs have allocated while each of their nodes runs: the first forward, the second backward,
/// saved values included. Inputs of the function are not counted.
struct MemoryCurves {
  std::vector<int64_t> forward, backward;
};
MemoryCurves memory_curves(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved);
/// What the backward pass finds allocated for each saved value: its memory in the forward graph, none when
/// that is an input's.
std::vector<int64_t> saved_memory(const ir::Graph& forward, const std::vector<Saved>& saved);

std::string print(const std::vector<Decision>& decisions);  ///< one line each, for people

}  // namespace antegrad::partition
