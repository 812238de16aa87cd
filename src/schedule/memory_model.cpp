#include "schedule/memory_model.h"

#include <algorithm>

namespace antegrad::schedule {
namespace {

int64_t bytes_of(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(id).tensor();
  if (type == nullptr || graph.storage_of(id) != id) return 0;
  return graph.hint_of(type->numel()) * ir::size_in_bytes(type->dtype);
}

/// The largest sum of the first so many.
int64_t highest(const std::vector<int64_t>& changes) {
  int64_t sum = 0, most = 0;
  for (auto change : changes) most = std::max(most, sum += change);
  return most;
}

}  // namespace

void MemoryModel::add(int64_t bytes, int64_t first, int64_t last, Changes& changes) {
  if (first > last) return;
  changes[static_cast<size_t>(first)] += bytes;
  changes[static_cast<size_t>(last) + 1] -= bytes;
}

MemoryModel::MemoryModel(const ir::Graph& graph)
    : bytes_(graph.values.size()),
      made_(graph.values.size(), -1),
      read_(graph.values.size(), -1),
      total_(graph.nodes.size() + 2) {
  const auto end = static_cast<int64_t>(graph.nodes.size());
  const auto read = [&](ir::ValueId id, int64_t node) {
    read_[static_cast<size_t>(graph.storage_of(id).index)] = node;
  };
  for (int64_t n = 0; n < end; ++n) {
    const auto& node = graph.nodes[static_cast<size_t>(n)];
    for (auto id : node.outputs) {
      bytes_[static_cast<size_t>(id.index)] = bytes_of(graph, id);
      made_[static_cast<size_t>(id.index)] = n;
    }
    ir::for_each_input(node, [&](ir::ValueId id) { read(id, n); });
    for (auto id : node.effects.writes) read(id, n);
  }
  for (const auto& output : graph.outputs)
    if (output.value.valid()) read(output.value, end);
  for (size_t v = 0; v < made_.size(); ++v) {
    read_[v] = std::max(read_[v], made_[v]);
    if (made_[v] >= 0) add(bytes_[v], made_[v], read_[v], total_);
  }
  peak_ = highest(total_);
}

void MemoryModel::add(const Work& work, int64_t sign, Changes& changes) const {
  const auto is_made_here = [&](ir::ValueId id) {
    return std::ranges::find(work.makes, id) != work.makes.end();
  };
  for (auto id : work.reads) {
    const auto v = static_cast<size_t>(id.index);
    if (v < made_.size() && made_[v] >= 0 && !is_made_here(id))
      add(sign * bytes_[v], read_[v] + 1, work.at + 1, changes);
  }
  for (auto id : work.makes) {
    const auto v = static_cast<size_t>(id.index);
    if (v < made_.size() && made_[v] >= 0)
      add(-sign * bytes_[v], made_[v], read_[v] <= work.at + 1 ? read_[v] : work.at, changes);
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
  const auto end = static_cast<int64_t>(program.steps.size());
  std::vector<int64_t> first(graph.values.size(), -1), last(graph.values.size(), -1);
  const auto use = [&](ir::ValueId id, int64_t step, bool makes) {
    const auto v = static_cast<size_t>(graph.storage_of(id).index);
    if (makes && first[v] < 0) first[v] = step;
    last[v] = std::max(last[v], step);
  };
  for (int64_t s = 0; s < end; ++s) {
    if (const auto* run = std::get_if<RunKernel>(&program.steps[static_cast<size_t>(s)])) {
      size_t passed = 0;
      for (const auto& buffer : program.kernels[static_cast<size_t>(run->kernel)].buffers)
        if (buffer.kind != Buffer::Kind::Scratch)
          use(run->buffers[passed++], s, buffer.kind == Buffer::Kind::Output);
      continue;
    }
    const auto& node =
        graph.nodes[static_cast<size_t>(std::get<RunNode>(program.steps[static_cast<size_t>(s)]).node)];
    ir::for_each_input(node, [&](ir::ValueId id) { use(id, s, false); });
    for (auto id : node.outputs) use(id, s, true);
  }
  for (const auto& output : graph.outputs)
    if (output.value.valid()) use(output.value, end, false);
  for (const auto& input : graph.inputs) first[static_cast<size_t>(input.value.index)] = -1;
  std::vector<int64_t> changes(program.steps.size() + 2);
  for (size_t v = 0; v < first.size(); ++v) {
    if (first[v] < 0) continue;
    const auto bytes = bytes_of(graph, {static_cast<int32_t>(v)});
    changes[static_cast<size_t>(first[v])] += bytes;
    changes[static_cast<size_t>(last[v]) + 1] -= bytes;
  }
  return highest(changes);
}

}  // namespace antegrad::schedule
