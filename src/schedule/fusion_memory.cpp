// When groups run, and what that means for memory.
#include <algorithm>

#include "schedule/fusion.h"

namespace antegrad::schedule {

int64_t Fusion::start_of(int32_t cluster) const {
  return cluster_start_[static_cast<size_t>(clusters_.find(cluster))];
}

/// A cluster runs as soon as what it reads is there, but not before the first of its nodes. What depends on
/// it runs later too, which matters to the model of memory only.
void Fusion::set_start(int32_t cluster, int64_t start) {
  cluster = clusters_.find(cluster);
  if (start <= cluster_start_[static_cast<size_t>(cluster)]) return;
  cluster_start_[static_cast<size_t>(cluster)] = start;
  if (memory_ == nullptr) return;
  for (int32_t other = 0; other < static_cast<int32_t>(cluster_start_.size()); ++other)
    if (clusters_.depends(other, cluster))
      cluster_start_[static_cast<size_t>(other)] =
          std::max(cluster_start_[static_cast<size_t>(other)], start);
}

MemoryModel::Work Fusion::work_of(int32_t group) const {
  MemoryModel::Work work;
  for (auto index : groups_[static_cast<size_t>(group)].items)
    add_work(items_[static_cast<size_t>(index)], work);
  work.at = start_of(group_cluster_[static_cast<size_t>(group)]);
  return work;
}

void Fusion::add_work(const Item& item, MemoryModel::Work& work) const {
  const auto add = [&](ir::ValueId id, std::vector<ir::ValueId>& to) {
    const auto owner = places_.owner(id);
    if (owner.valid() && std::ranges::find(to, owner) == to.end()) to.push_back(owner);
  };
  for (const auto& operand : item.operands)
    if (operand.value.valid()) add(operand.value, work.reads);
  if (item.source.valid()) add(item.source, work.reads);
  add(item.output, work.makes);
}

/// Whether an item that reads these clusters may join the group.
bool Fusion::has_memory_for(int32_t group, const Item& item, const std::vector<int32_t>& reads) const {
  if (memory_ == nullptr) return true;
  const auto before = work_of(group);
  auto after = before;
  add_work(item, after);
  for (auto read : reads) after.at = std::max(after.at, start_of(read));
  return memory_->allows({before}, after);
}

bool Fusion::has_memory_for(int32_t a, int32_t b) const {
  return memory_ == nullptr || memory_->allows({work_of(a), work_of(b)}, merged_work(a, b));
}

MemoryModel::Work Fusion::merged_work(int32_t a, int32_t b) const {
  auto work = work_of(a);
  for (auto index : groups_[static_cast<size_t>(b)].items) add_work(items_[static_cast<size_t>(index)], work);
  work.at = std::max(work.at, start_of(group_cluster_[static_cast<size_t>(b)]));
  return work;
}

}  // namespace antegrad::schedule
