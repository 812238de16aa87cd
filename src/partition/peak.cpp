#include <algorithm>

#include "ir/liveness.h"
#include "partition/cost.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

/// Simulates the allocations of one graph. Memory is counted per storage: allocated when its first value is
/// defined, freed after the last node that reads one of its values.
class Replay {
 public:
  explicit Replay(const ir::Graph& graph)
      : graph_(graph), live_(ir::Liveness::of_nodes(graph)), bytes_(graph.values.size()) {}

  /// Counts memory that is allocated before the first node runs.
  void allocate(ir::ValueId id, int64_t bytes) {
    if (graph_.storage_of(id) != id) return;
    bytes_[id] = bytes;
    live_bytes_ += bytes;
  }

  /// Returns the bytes allocated while each node runs. `most` is their maximum, including the state before
  /// the first.
  std::vector<int64_t> run(int64_t& most) {
    std::vector<ir::ValueId> unused;
    ir::PerNode<std::vector<ir::ValueId>> ends(graph_.nodes.size());
    const auto end = [&](ir::ValueId id) {
      if (graph_.storage_of(id) != id) return;
      const auto& lifetime = live_.storage(id);
      if (const ir::NodeId last{lifetime.last}; ends.contains(last))
        ends[last].push_back(id);
      else if (!lifetime.is_used())
        unused.push_back(id);
    };
    for (const auto& input : graph_.inputs) end(input.value);
    for (const auto& node : graph_.nodes)
      for (const auto id : node.outputs) end(id);
    most = live_bytes_;
    release(unused);
    std::vector<int64_t> curve;
    for (const auto node : graph_.node_ids()) {
      for (const auto id : graph_.node(node).outputs) allocate(id, storage_bytes(graph_, id));
      most = std::max(most, live_bytes_);
      curve.push_back(live_bytes_);
      release(ends[node]);
    }
    return curve;
  }

  int64_t peak() {
    int64_t most = 0;
    run(most);
    return most;
  }

 private:
  void release(const std::vector<ir::ValueId>& storages) {
    for (const auto id : storages) live_bytes_ -= bytes_[id];
  }

  const ir::Graph& graph_;
  const ir::Liveness live_;
  ir::PerValue<int64_t> bytes_;  ///< indexed by the value that owns the memory
  int64_t live_bytes_ = 0;
};

Replay backward_replay(const ir::Graph& forward, const ir::Graph& backward, const std::vector<Saved>& saved) {
  const auto memory = saved_memory(forward, saved);
  Replay replay(backward);
  for (size_t i = 0; i < backward.inputs.size(); ++i) {
    const auto id = backward.inputs[i].value;
    replay.allocate(id, i < saved.size() ? memory[i] : storage_bytes(backward, id));
  }
  return replay;
}

}  // namespace

std::vector<int64_t> saved_memory(const ir::Graph& forward, const std::vector<Saved>& saved) {
  ir::PerValue<bool> is_input(forward.values.size());
  for (const auto& input : forward.inputs) is_input[input.value] = true;
  std::vector<int64_t> bytes(saved.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].output < 0) continue;
    const auto storage = forward.storage_of(forward.outputs[saved[i].output].value);
    bytes[i] = is_input[storage] ? 0 : storage_bytes(forward, storage);
  }
  return bytes;
}

PeakEstimate estimate_peak(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved) {
  return {Replay(forward).peak(), backward_replay(forward, backward, saved).peak()};
}

MemoryCurves memory_curves(const ir::Graph& forward, const ir::Graph& backward,
                           const std::vector<Saved>& saved) {
  int64_t most = 0;
  return {Replay(forward).run(most), backward_replay(forward, backward, saved).run(most)};
}

}  // namespace antegrad::partition
