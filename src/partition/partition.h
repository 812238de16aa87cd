#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "ir/graph.h"

namespace antegrad::partition {

/// A value passed from the forward to the backward pass. Exactly one member is set.
struct Saved {
  int32_t input = -1;   ///< an input of the joint graph, kept as it is
  int32_t output = -1;  ///< an output of the forward graph
  bool operator==(const Saved&) const = default;
};

/// The decision for one value that the backward pass could read, and its reason.
struct Decision {
  ir::ValueId value;  ///< in the joint graph
  std::string op;     ///< the op that computes it; "input" for an input
  std::string scope;
  int64_t bytes = 0;
  bool saved = false;
  std::string reason;  ///< human-readable
};

struct PeakEstimate {
  int64_t forward = 0;   ///< the most bytes allocated at any time in the forward graph
  int64_t backward = 0;  ///< the same for the backward graph, including saved values
  int64_t peak() const { return forward > backward ? forward : backward; }
};

struct Partition {
  ir::Graph forward;   ///< Stage::Forward: the inputs of the joint graph except tangents; its outputs except
                       ///< gradients, then saved values that are not outputs yet
  ir::Graph backward;  ///< Stage::Backward: saved values, then tangents; outputs: the gradients
  std::vector<Saved> saved;  ///< in the order of the backward graph's inputs
  std::vector<bool> extra;   ///< per saved value: an input that eager's backward pass does not read
  std::vector<Decision> decisions;
  int64_t saved_bytes = 0;  ///< without inputs
  PeakEstimate peak;
};

/// What the plan is made for.
struct Target {
  /// Chains of pointwise ops need no memory for intermediate values, so that recomputing them is free.
  bool fuses = false;
  /// Whether inputs that eager does not read in its backward pass may be written to before ours: copies are
  /// saved.
  bool writable_inputs = true;
};

/// Splits a joint graph. If no plan fits a budget, throws Error(InvalidArgument) with the smallest possible
/// one.
Partition partition(const ir::Graph& joint, const Policy& policy = MinCut{},
                    const std::vector<ScopeRule>& rules = {}, const Target& target = {});

/// Simulates the allocations of both graphs.
PeakEstimate estimate_peak(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved);

/// The bytes allocated while each node of the two graphs runs. `backward` includes saved values. Inputs of
/// the function are not counted.
struct MemoryCurves {
  std::vector<int64_t> forward, backward;
};
MemoryCurves memory_curves(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved);
/// The memory that each saved value holds at the start of the backward pass: its storage in the forward
/// graph, 0 if that belongs to an input.
std::vector<int64_t> saved_memory(const ir::Graph& forward, const std::vector<Saved>& saved);

std::string print(const std::vector<Decision>& decisions);  ///< human-readable, one line per decision

}  // namespace antegrad::partition
