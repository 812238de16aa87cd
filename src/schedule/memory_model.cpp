#include "schedule/memory_model.h"

#include <algorithm>

#include "schedule/liveness.h"

namespace antegrad::schedule {
namespace {

int64_t bytes_of(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(id).tensor();
  if (type == nullptr || graph.storage_of(id) != id) return 0;
  return graph.hint_of(type->numel()) * ir::size_in_bytes(type->dtype);
}

/// Returns the largest prefix sum.
int64_t highest(const std::vector<int64_t>& changes) {
  int64_t sum = 0, most = 0;
  for (auto change : changes) most = std::max(most, sum += change);
  return most;
}

}  // namespace

void MemoryModel::add(int64_t bytes, int64_t first, int64_t last, Changes& changes) {
  if (first > last) return;
  changes[first] += bytes;
  changes[last + 1] -= bytes;
}

MemoryModel::MemoryModel(const ir::Graph& graph)
    : memory_(graph.values.size()), total_(graph.nodes.size() + 2) {
  const auto live = ir::Liveness::of_nodes(graph);
  for (const auto& node : graph.nodes)
    for (const auto id : node.outputs) {
      auto& memory = memory_[id];
      memory = {bytes_of(graph, id), {live.value(id).first, live.storage(id).last}};
      add(memory.bytes, memory.lifetime.first, memory.lifetime.last, total_);
    }
  peak_ = highest(total_);
}

const MemoryModel::Memory* MemoryModel::made(ir::ValueId id) const {
  return memory_.contains(id) && memory_[id].lifetime.first >= 0 ? &memory_[id] : nullptr;
}

void MemoryModel::add(const Work& work, int64_t sign, Changes& changes) const {
  const auto is_made_here = [&](ir::ValueId id) {
    return std::ranges::find(work.makes, id) != work.makes.end();
  };
  for (auto id : work.reads)
    if (const auto* memory = made(id); memory != nullptr && !is_made_here(id))
      add(sign * memory->bytes, memory->lifetime.last + 1, work.at + 1, changes);
  for (auto id : work.makes)
    if (const auto* memory = made(id)) {
      const int64_t last = memory->lifetime.last;
      add(-sign * memory->bytes, memory->lifetime.first, last <= work.at + 1 ? last : work.at, changes);
    }
}

MemoryModel::Changes MemoryModel::changes(const std::vector<Work>& before, const Work& after) const {
  Changes out(total_.size());
  for (const auto& work : before) add(work, -1, out);
  add(after, 1, out);
  return out;
}

bool MemoryModel::allows(const std::vector<Work>& before, const Work& after) const {
  const auto more = changes(before, after);
  int64_t sum = 0, extra = 0;
  for (size_t i = 0; i < more.size(); ++i) {
    sum += total_[i];
    extra += more[i];
    if (extra > 0 && sum + extra > peak_) return false;
  }
  return true;
}

void MemoryModel::replace(const std::vector<Work>& before, const Work& after) {
  const auto more = changes(before, after);
  for (size_t i = 0; i < more.size(); ++i) total_[i] += more[i];
}

int64_t peak_bytes(const Program& program) {
  const auto& graph = program.graph;
  const auto live = liveness(program);
  ir::PerValue<bool> is_input(graph.values.size());
  for (const auto& input : graph.inputs) is_input[input.value] = true;
  std::vector<int64_t> changes(program.steps.size() + 2);
  for (const auto id : graph.values.ids()) {
    const auto& lifetime = live.storage(id);
    if (graph.storage_of(id) != id || is_input[id] || lifetime.first < 0) continue;
    const auto bytes = bytes_of(graph, id);
    changes[lifetime.first] += bytes;
    changes[lifetime.last + 1] -= bytes;
  }
  return highest(changes);
}

}  // namespace antegrad::schedule
