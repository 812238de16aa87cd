#include "schedule/fusion.h"

#include <algorithm>

namespace antegrad::schedule {
namespace {

const ir::Dim& kOne = *new const ir::Dim(1);

}  // namespace

Fusion::Fusion(ir::Graph& graph, const Settings& settings, MemoryModel* memory)
    : graph_(graph), settings_(settings), memory_(memory), places_(graph) {}

void Fusion::run() {
  for (const auto node : graph_.node_ids()) add_node(node);
  materialise_free();
}

ClusterId Fusion::add_cluster(ir::NodeId node) {
  times_.push_back({node.index, node.index});
  return clusters_.add();
}

void Fusion::add_node(ir::NodeId index) {
  if (places_.is_view_node(index)) return;
  std::string why;
  auto items = lower(graph_, index, settings_, why);
  for (const auto& item : items) {
    places_.add(graph_, item.output);
    for (const auto& operand : item.operands)
      if (operand.value.valid() && !places_.owner(operand.value).valid()) places_.add(graph_, operand.value);
  }
  if (items.size() == 1 && items[0].form == Form::Scatter && items[0].source.valid() &&
      !is_zero(items[0].source))
    add_item(copy_of(items[0].source, items[0]));
  for (auto& item : items) add_item(std::move(item));
  if (!items.empty()) return;
  const auto cluster = add_cluster(index);
  const auto& node = graph_.node(index);
  std::vector<ClusterId> reads;
  ir::for_each_input(node, [&](ir::ValueId id) { add_reads(id, reads); });
  for (auto id : node.effects.writes) add_reads(id, reads);
  for (auto read : reads) clusters_.depend(cluster, read);
  for (auto read : reads) set_start(cluster, start_of(read));
  for (auto id : node.outputs) extern_cluster_[id] = cluster;
  keep_order(cluster, node.effects);
  externs_.push_back({index, std::move(why), cluster});
}

/// Makes a node with effects depend on earlier ones that it must not overtake.
void Fusion::keep_order(ClusterId cluster, const ir::Effects& effects) {
  if (effects.none() || ir::acts_on(effects) == ir::kWaits) return;
  const std::string resource(ir::acts_on(effects));
  for (const auto& [other, last] : last_effects_)
    if (other == resource || other.empty() || resource.empty()) clusters_.depend(cluster, last);
  last_effects_[resource] = cluster;
}

/// Returns an item that copies the initial contents of a scatter to its output.
Item Fusion::copy_of(ir::ValueId source, const Item& scatter) const {
  Item copy;
  copy.node = scatter.node;
  copy.output = scatter.output;
  copy.sizes = graph_.tensor_type(scatter.output).sizes;
  copy.expression = std::string(1, 'a');
  copy.computes = copy.result = scatter.result;
  copy.operands = {{source, {}, scatter.result}};
  copy.part = true;
  return copy;
}

const std::vector<ItemId>& Fusion::makers(ir::ValueId id) const {
  static const auto& kNone = *new const std::vector<ItemId>();
  const auto owner = places_.owner(id);
  const auto found = owner.valid() ? makers_.find(owner) : makers_.end();
  return found == makers_.end() ? kNone : found->second;
}

const Item* Fusion::free_item(ir::ValueId id) const {
  const auto& made_by = makers(id);
  if (made_by.size() != 1 || items_[made_by[0]].group.valid()) return nullptr;
  return &items_[made_by[0]];
}

void Fusion::add_reads(ir::ValueId value, std::vector<ClusterId>& clusters) const {
  const auto owner = places_.owner(value);
  if (const auto* item = free_item(value)) {
    for (const auto& operand : item->operands)
      if (operand.value.valid()) add_reads(operand.value, clusters);
    return;
  }
  for (auto maker : makers(value)) clusters.push_back(clusters_.find(groups_[items_[maker].group].cluster));
  const auto found = extern_cluster_.find(owner.valid() ? owner : value);
  if (found != extern_cluster_.end()) clusters.push_back(found->second);
}

std::vector<ClusterId> Fusion::clusters_read(const Item& item) const {
  std::vector<ClusterId> out;
  for (const auto& operand : item.operands)
    if (operand.value.valid()) add_reads(operand.value, out);
  if (item.source.valid()) add_reads(item.source, out);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Constants, and scalar arithmetic on inputs and other free items.
bool Fusion::is_free(const Item& item) const {
  if (item.part) return false;
  if (item.is_free()) return true;
  if (item.form != Form::Pointwise || item.expensive || !item.sizes.empty()) return false;
  return std::ranges::all_of(item.operands, [&](const Operand& operand) {
    return !operand.value.valid() || makers(operand.value).empty() || free_item(operand.value) != nullptr;
  });
}

void Fusion::add_item(Item item) {
  const bool is_free_item = is_free(item);
  const auto owner = places_.owner(item.output);
  const auto index = items_.push_back(std::move(item));
  makers_[owner].push_back(index);
  if (is_free_item) return;
  const auto& added = items_[index];
  std::vector<GroupId> candidates;
  if (settings_.fuse && added.form != Form::Scatter)
    for (const auto& operand : added.operands)
      if (operand.value.valid())
        for (auto maker : makers(operand.value))
          if (items_[maker].group.valid()) candidates.push_back(items_[maker].group);
  std::ranges::sort(candidates, std::greater<>());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (auto group : candidates)
    if (join(index, group)) {
      merge_operands(index);
      return;
    }
  for (auto group : siblings(added))
    if (join(index, group, true)) return;
  seed(index);
}

void Fusion::note_reads(ItemId index) {
  for (const auto& operand : items_[index].operands)
    if (operand.value.valid() && makers(operand.value).empty()) {
      auto& readers = readers_[operand.value];
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
}

/// Returns groups that read the same inputs or results of LibTorch's as the item, the latest first. Only
/// those of nodes nearby: what is computed long before it is used takes memory.
std::vector<GroupId> Fusion::siblings(const Item& item) const {
  constexpr int32_t kNearby = 64;
  std::vector<GroupId> out;
  const auto* target = settings_.target_for(device_of(item));
  if (!settings_.fuse || target == nullptr || !target->joins_siblings || item.part ||
      item.form == Form::Scatter)
    return out;
  for (const auto& operand : item.operands) {
    const auto found = operand.value.valid() ? readers_.find(operand.value) : readers_.end();
    if (found == readers_.end()) continue;
    for (auto reader : found->second)
      if (items_[reader].group.valid() && item.node.index - items_[reader].node.index <= kNearby)
        out.push_back(items_[reader].group);
  }
  std::ranges::sort(out, std::greater<>());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

int64_t Fusion::count_expensive(const Group& group) const {
  return std::ranges::count_if(group.items, [&](ItemId i) { return items_[i].expensive; });
}

/// Whether no two dims of an item are mapped to the same loop.
static bool are_disjoint(const Dims& dims) {
  Atoms all;
  size_t count = 0;
  for (const auto& atoms : dims) {
    if (!atoms) continue;
    all = united(all, *atoms);
    count += atoms->size();
  }
  return all.size() == count;
}

bool Fusion::join(ItemId index, GroupId group_index, bool as_sibling) {
  auto& group = groups_[group_index];
  const auto& item = items_[index];
  const auto cluster = clusters_.find(group.cluster);
  const auto& target = target_of(group);
  if (!(device_of(item) == group.device) || std::ssize(group.items) >= target.most_items ||
      (item.expensive && count_expensive(group) >= target.most_expensive))
    return false;
  const auto reads = clusters_read(item);
  for (auto read : reads)
    if (read != cluster && clusters_.depends(read, cluster)) return false;
  const auto made_here = [&](ir::ValueId id) {
    return std::ranges::any_of(makers(id), [&](ItemId maker) { return items_[maker].group == group_index; });
  };
  if (item.source.valid() && made_here(item.source)) return false;
  Dims total(item.sizes.size());
  group.pending = {&total};
  bool fits = true;
  for (size_t k = 0; k < item.operands.size() && fits; ++k) {
    const auto value = item.operands[k].value;
    if (!value.valid()) continue;
    const bool made = made_here(value);
    if (!made && !as_sibling) continue;
    auto dims = made ? dims_in(group, value) : dims_read(group, value);
    if (!dims && !made) continue;
    if (!dims) fits = false;
    const auto& sizes = graph_.tensor_type(value).sizes;
    for (size_t d = 0; fits && d < sizes.size(); ++d) {
      auto& at = total[first_dim(item, k) + d];
      if (!(*dims)[d] || (sizes[d] == kOne && !(item.sizes[first_dim(item, k) + d] == kOne))) continue;
      fits = !at || *at == *(*dims)[d];
      at = (*dims)[d];
    }
  }
  group.pending.clear();
  if (!fits || !are_disjoint(total) || !has_memory_for(group_index, item, reads)) return false;
  if (!bind(group, item, total)) return false;
  std::vector<Atoms> placement;
  for (auto& atoms : total) placement.push_back(*atoms);
  if (item.form == Form::Reduction && !reduce(group, index, placement)) return false;
  const auto before = memory_ == nullptr ? MemoryModel::Work() : work_of(group_index);
  add_to(group_index, index, std::move(placement));
  for (auto read : reads) clusters_.depend(cluster, read);
  for (auto read : reads) set_start(cluster, start_of(read));
  if (memory_ != nullptr) memory_->replace({before}, work_of(group_index));
  return true;
}

void Fusion::add_to(GroupId group_index, ItemId index, std::vector<Atoms> placement) {
  auto& group = groups_[group_index];
  const auto& item = items_[index];
  items_[index].group = group_index;
  group.items.push_back(index);
  const bool is_sink = std::ranges::find(group.sinks, index) != group.sinks.end();
  if (!is_sink && !item.part && item.form != Form::Scatter) {
    if (item.form != Form::Reduction) {
      group.values[item.output] = placement;
    } else {
      const bool keeps_rank = graph_.tensor_type(item.output).sizes.size() == item.sizes.size();
      auto& kept = group.values[item.output];
      for (size_t d = 0; d < placement.size(); ++d) {
        if (!item.reduced[d])
          kept.push_back(placement[d]);
        else if (keeps_rank)
          kept.emplace_back();
      }
    }
  }
  group.placement[index] = std::move(placement);
  note_reads(index);
  if (is_sink) finish(group_index, index);
}

void Fusion::seed(ItemId index) {
  const auto group_index = groups_.push_back({});
  const auto cluster = add_cluster(items_[index].node);
  groups_[group_index].cluster = cluster;
  groups_[group_index].device = device_of(items_[index]);
  for (auto read : clusters_read(items_[index])) {
    clusters_.depend(cluster, read);
    set_start(cluster, start_of(read));
  }
  for (auto earlier : makers(items_[index].output))
    if (earlier < index && items_[index].form == Form::Scatter)
      clusters_.depend(cluster, groups_[items_[earlier].group].cluster);
  std::vector<Atoms> placement;
  for (const auto& size : items_[index].sizes) {
    placement.emplace_back();
    if (!(size == kOne)) placement.back().push_back(groups_.back().add_atom(size));
  }
  if (items_[index].form == Form::Reduction) reduce(groups_.back(), index, placement);
  add_to(group_index, index, std::move(placement));
  if (memory_ != nullptr) memory_->replace({}, work_of(group_index));
}

/// Gives free items that are read from memory kernels of their own.
void Fusion::materialise_free() {
  std::vector<ir::ValueId> wanted;
  for (const auto& one : externs_) {
    ir::for_each_input(graph_.node(one.node), [&](ir::ValueId id) { wanted.push_back(id); });
    for (auto id : graph_.node(one.node).effects.writes) wanted.push_back(id);
  }
  for (const auto& output : graph_.outputs)
    if (output.value.valid()) wanted.push_back(output.value);
  for (const auto& item : items_)
    if (item.source.valid() && !(item.form == Form::Scatter && is_zero(item.source)))
      wanted.push_back(item.source);
  for (auto id : wanted) {
    if (free_item(id) == nullptr) continue;
    const auto owner = places_.owner(id);
    if (!stored_free_.insert(owner).second) continue;
    seed(items_.push_back(*free_item(id)));
    const auto cluster = groups_.back().cluster;
    for (const auto& one : externs_)
      ir::for_each_input(graph_.node(one.node), [&](ir::ValueId read) {
        if (places_.owner(read) == owner) clusters_.depend(one.cluster, cluster);
      });
    for (const auto& item : items_)
      if (item.source.valid() && places_.owner(item.source) == owner && item.group.valid())
        clusters_.depend(groups_[item.group].cluster, cluster);
  }
}

bool Fusion::is_zero(ir::ValueId id) const {
  const auto* item = free_item(id);
  return item != nullptr && item->form == Form::Constant && equals(item->number, 0);
}

std::vector<Fusion::Unit> Fusion::units() const {
  std::unordered_map<ClusterId, Unit> by_cluster;
  for (const auto id : groups_.ids())
    if (!groups_[id].is_absorbed) by_cluster[clusters_.find(groups_[id].cluster)].group = id;
  for (const auto& one : externs_) {
    auto& unit = by_cluster[one.cluster];
    unit.node = one.node;
    unit.why = one.why;
  }
  IdMap<ClusterId, int64_t> keys;
  for (const auto& time : times_) keys.push_back(time.key);
  std::vector<Unit> out;
  for (auto cluster : clusters_.order(keys)) out.push_back(by_cluster.at(cluster));
  return out;
}

}  // namespace antegrad::schedule
