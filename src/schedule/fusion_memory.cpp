// When groups run, and how much memory that takes.
#include <algorithm>

#include "schedule/fusion.h"

namespace antegrad::schedule {

int64_t Fusion::start_of(ClusterId cluster) const { return times_[clusters_.find(cluster)].start; }

/// A cluster runs as soon as its operands are available, but not before the first of its nodes. Clusters that
/// depend on it start later too, which only the memory model needs to know.
void Fusion::set_start(ClusterId cluster, int64_t start) {
  cluster = clusters_.find(cluster);
  if (start <= times_[cluster].start) return;
  times_[cluster].start = start;
  if (memory_ == nullptr) return;
  for (const auto other : times_.ids())
    if (clusters_.depends(other, cluster)) times_[other].start = std::max(times_[other].start, start);
}

MemoryModel::Work Fusion::work_of(GroupId group) const {
  MemoryModel::Work work;
  for (auto index : groups_[group].items) add_work(items_[index], work);
  work.at = start_of(groups_[group].cluster);
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
bool Fusion::has_memory_for(GroupId group, const Item& item, const std::vector<ClusterId>& reads) const {
  if (memory_ == nullptr) return true;
  const auto before = work_of(group);
  auto after = before;
  add_work(item, after);
  for (auto read : reads) after.at = std::max(after.at, start_of(read));
  return memory_->allows({before}, after);
}

bool Fusion::has_memory_for(GroupId a, GroupId b) const {
  return memory_ == nullptr || memory_->allows({work_of(a), work_of(b)}, merged_work(a, b));
}

MemoryModel::Work Fusion::merged_work(GroupId a, GroupId b) const {
  auto work = work_of(a);
  for (auto index : groups_[b].items) add_work(items_[index], work);
  work.at = std::max(work.at, start_of(groups_[b].cluster));
  return work;
}

}  // namespace antegrad::schedule
