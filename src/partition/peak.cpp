#include <algorithm>

#include "partition/classify.h"
#include "partition/cost.h"
#include "partition/partition.h"

namespace antegrad::partition {
namespace {

constexpr size_t kForever = static_cast<size_t>(-1);

/// Replays one graph. Memory is counted per storage: allocated when its first value is defined, freed after
/// the last node that reads one of its values.
class Replay {
 public:
  explicit Replay(const ir::Graph& graph)
      : graph_(graph), last_use_(graph.values.size()), bytes_(graph.values.size()) {
    for (const auto& output : graph.outputs)
      if (output.value.valid()) last_use_[storage(output.value)] = kForever;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      const auto use = [&](ir::ValueId id) {
        auto& last = last_use_[storage(id)];
        last = std::max(last, i + 1);
      };
      for_each_read(graph.nodes[i], use);
      for (const auto id : graph.nodes[i].outputs) use(id);
    }
  }

  /// What is there before the first node.
  void allocate(ir::ValueId id, int64_t bytes) {
    if (storage(id) != at(id)) return;
    bytes_[at(id)] = bytes;
    live_ += bytes;
  }

  /// What is allocated while each node runs; `most` gets the largest, with what is there before the first.
  std::vector<int64_t> run(int64_t& most) {
    std::vector<std::vector<size_t>> ends(graph_.nodes.size() + 1);
    for (const auto& input : graph_.inputs) end_at(ends, at(input.value));
    for (const auto& node : graph_.nodes)
      for (const auto id : node.outputs) end_at(ends, at(id));
    most = live_;
    release(ends[0]);
    std::vector<int64_t> curve;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const auto id : graph_.nodes[i].outputs) allocate(id, storage_bytes(graph_, id));
      most = std::max(most, live_);
      curve.push_back(live_);
      release(ends[i + 1]);
    }
    return curve;
  }

  int64_t peak() {
    int64_t most = 0;
    run(most);
    return most;
  }

 private:
  size_t storage(ir::ValueId id) const { return at(graph_.storage_of(id)); }
  void end_at(std::vector<std::vector<size_t>>& ends, size_t value) const {
    if (last_use_[value] != kForever && storage({static_cast<int32_t>(value)}) == value)
      ends[last_use_[value]].push_back(value);
  }
  void release(const std::vector<size_t>& storages) {
    for (const auto index : storages) live_ -= bytes_[index];
  }

  const ir::Graph& graph_;
  std::vector<size_t> last_use_;  ///< per storage: 0 never, i + 1: node i
  std::vector<int64_t> bytes_;
  int64_t live_ = 0;
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
  std::vector<bool> is_input(forward.values.size());
  for (const auto& input : forward.inputs) is_input[at(input.value)] = true;
  std::vector<int64_t> bytes(saved.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].output < 0) continue;
    const auto storage = forward.storage_of(forward.outputs[static_cast<size_t>(saved[i].output)].value);
    bytes[i] = is_input[at(storage)] ? 0 : storage_bytes(forward, storage);
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
