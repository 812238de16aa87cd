// How reductions join groups.
#include <algorithm>
#include <limits>

#include "schedule/fusion.h"
#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

const ir::Dim& kOneElement = *new const ir::Dim(1);

/// Whether every reduced dim has a larger stride than every kept dim.
bool reduces_slow_dims(const ir::Graph& graph, const ir::TensorType& type, const std::vector<bool>& reduced) {
  int64_t most_kept = 0, least_reduced = std::numeric_limits<int64_t>::max();
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (type.sizes[d] == kOneElement) continue;
    const auto stride = likely_stride(graph, type.strides[d]);
    if (reduced[d])
      least_reduced = std::min(least_reduced, stride);
    else
      most_kept = std::max(most_kept, stride);
  }
  return most_kept < least_reduced;
}

}  // namespace

int32_t Fusion::fast_atom(const Item& item, const std::vector<Atoms>& placement, bool kept) const {
  const auto& type = graph_.tensor_type(item.operands[0].value);
  int32_t best = -1;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (placement[d].empty() || type.strides[d] == ir::Dim(0) || (kept && item.reduced[d])) continue;
    const auto stride = likely_stride(graph_, type.strides[d]);
    if (stride > least) continue;
    least = stride;
    best = placement[d].back();
  }
  return best;
}

bool Fusion::reduce(Group& group, ItemId index, const std::vector<Atoms>& placement) {
  const auto& item = items_[index];
  Atoms red, keep;
  for (size_t d = 0; d < placement.size(); ++d)
    (item.reduced[d] ? red : keep) = united(item.reduced[d] ? red : keep, placement[d]);
  if (!group.split) {
    const auto all = group.all_atoms();
    if (keep.empty()) {
      const bool small = likely(group.product(all)) <= target_of(group).small_reduction;
      if (!small || !group.sinks.empty()) return make_sink(group, index, red, false);
      group.split_into({group.add_atom(kOneElement)}, all);
      return true;
    }
    const auto fast = fast_atom(item, placement);
    if (item.finishes) {
      group.split_into(keep, red, fast);
      return true;
    }
    const bool keeps_fast = std::ranges::find(keep, fast) != keep.end();
    const auto& type = graph_.tensor_type(item.operands[0].value);
    if (keeps_fast && reduces_slow_dims(graph_, type, item.reduced) &&
        likely(group.product(red)) >= 2 * target_of(group).least_inner) {
      if (!group.sink_outer.empty() && !same_set(group.sink_outer, red)) return false;
      return make_sink(group, index, red, true);
    }
    if (!group.sink_outer.empty() && (keeps_fast || !same_set(group.sink_outer, keep))) return false;
    const bool short_rows =
        likely(group.product(red)) < target_of(group).least_inner && likely(group.product(keep)) >= kStrip;
    const bool side_by_side = !keeps_fast && short_rows && group.sink_outer.empty();
    group.split_into(keep, red, keeps_fast ? fast : side_by_side ? fast_atom(item, placement, true) : -1);
    return true;
  }
  if (same_set(keep, group.outer)) return true;  // one value per row, reduced over one of the spaces
  const bool all_outer = is_subset(group.outer, red);
  if (!all_outer) return false;
  if (keep.empty()) return make_sink(group, index, group.outer, false);
  return group.lane < 0 && make_sink(group, index, group.outer, true);
}

bool Fusion::make_sink(Group& group, ItemId index, const Atoms& outer, bool columns) {
  if (columns && !group.split) group.sink_outer = outer;
  group.sinks.push_back(index);
  if (group.chunks.is(0)) group.chunks = chunks_for(group, outer, columns);
  return true;
}

/// Returns the number of chunks that the rows over `outer` are divided into. It depends on sizes only, never
/// on the number of threads.
ir::Dim Fusion::chunks_for(const Group& group, const Atoms& outer, bool columns) const {
  const auto clamped = [](const ir::Dim& n, int64_t least, const ir::Dim& most) {
    return min(max(n, least), most);
  };
  const auto all = group.all_atoms();
  const auto by_work = clamped(floor_div(group.product(all), target_of(group).elements_per_chunk), 1,
                               target_of(group).most_chunks);
  if (!columns) return by_work;
  // A chunk adds floats one after the other: limits how many, for accuracy.
  const auto by_length = floor_div(group.product(outer), target_of(group).rows_per_chunk);
  auto columns_count = group.product(without(all, outer));
  if (!is_at_least(graph_, columns_count, 1)) columns_count = max(columns_count, 1);
  const auto most = clamped(floor_div(target_of(group).partial_elements, columns_count),
                            target_of(group).least_column_chunks, target_of(group).most_column_chunks);
  const auto chunks = clamped(max(by_work, by_length), 1, most);
  return range_of(graph_, chunks).upper <= 1 ? ir::Dim(1) : chunks;
}

/// Adds the reduction that combines the results that a sink computes per chunk, as another kernel.
void Fusion::finish(GroupId group_index, ItemId index) {
  auto& sink = items_[index];
  const auto chunks = groups_[group_index].chunks;
  const auto output = sink.output;
  const auto type = graph_.tensor_type(output);
  const bool whole =
      type.numel() == kOneElement && sink.result == ir::DType::F32 && sink.combine == Combine::Sum;
  if (chunks.is(1) && type.dtype == sink.result) return;
  std::vector<ir::Dim> sizes = {chunks};
  sizes.insert(sizes.end(), type.sizes.begin(), type.sizes.end());
  const auto dtype = whole ? ir::DType::F64 : sink.result;
  const auto partial = graph_.add_value(ir::contiguous_tensor(dtype, sizes, type.device));
  places_.add(graph_, partial);
  sink.output = partial;
  makers_[partial] = {index};
  Item total;
  total.node = sink.node;
  total.form = Form::Reduction;
  total.output = output;
  total.sizes = sizes;
  // Sums of floats over chunks are computed in double.
  const auto wide = dtype == ir::DType::F32 && sink.combine == Combine::Sum ? ir::DType::F64 : dtype;
  total.operands = {{partial, {}, wide}};
  total.computes = total.result = wide;
  total.combine = sink.combine;
  total.reduced.assign(sizes.size(), false);
  total.reduced[0] = true;
  total.finishes = true;
  const auto last = items_.push_back(std::move(total));
  makers_[output] = {last};
  if (finish_alike(group_index, last)) return;
  seed(last);
  finishes_.emplace(group_index, last);
  // Runs right after the sink, so that the larger partial results are freed early.
  times_[groups_.back().cluster].key = times_[clusters_.find(groups_[group_index].cluster)].key;
}

/// Adds an item that finishes a sink to the group that finishes another one of the same sizes.
bool Fusion::finish_alike(GroupId group_index, ItemId index) {
  const auto found = finishes_.find(group_index);
  if (found == finishes_.end() || !target_of(groups_[group_index]).joins_siblings) return false;
  const auto into = items_[found->second].group;
  const auto& item = items_[index];
  if (items_[found->second].sizes != item.sizes || !(groups_[into].device == device_of(item)) ||
      std::ssize(groups_[into].items) >= target_of(groups_[into]).most_items)
    return false;
  const auto before = memory_ == nullptr ? MemoryModel::Work() : work_of(into);
  auto placement = groups_[into].placement.at(found->second);
  if (!reduce(groups_[into], index, placement)) return false;
  add_to(into, index, std::move(placement));
  if (memory_ != nullptr) memory_->replace({before}, work_of(into));
  return true;
}

}  // namespace antegrad::schedule
