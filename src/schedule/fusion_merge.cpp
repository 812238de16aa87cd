#include <algorithm>
#include <map>

#include "schedule/fusion.h"
#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

using AtomMap = std::map<int32_t, int32_t>;

Atoms mapped(const Atoms& atoms, const AtomMap& map) {
  Atoms out;
  for (auto atom : atoms)
    if (const auto found = map.find(atom); found != map.end()) out.push_back(found->second);
  return out;
}

/// Pairs the loops that a dim consists of in two groups, splitting a loop where its extent is a multiple of
/// the other. Returns false when the loops do not match. Sets `changed` when a loop was split, after which
/// the caller has to start again.
bool pair_up(Group& a, const Atoms& in_a, Group& b, const Atoms& in_b, AtomMap& b_to_a, bool& changed) {
  size_t i = in_a.size(), j = in_b.size();
  while (i > 0 && j > 0) {
    const auto x = in_a[--i], y = in_b[--j];
    const auto &dx = a.extents[x], &dy = b.extents[y];
    if (dx == dy) {
      const auto [at, added] = b_to_a.emplace(y, x);
      if (!added && at->second != x) return false;
      continue;
    }
    const auto small_x = dx, small_y = dy;  // copies: splitting invalidates dx and dy
    if (const auto times = divided(dx, dy))
      a.split_atom(x, *times, small_y);
    else if (const auto more = divided(dy, dx))
      b.split_atom(y, *more, small_x);
    else
      return false;
    changed = true;
    return true;
  }
  return i == 0 && j == 0;
}

bool is_injective(const AtomMap& map) {
  std::vector<int32_t> images;
  for (const auto& [from, to] : map) images.push_back(to);
  std::ranges::sort(images);
  return std::adjacent_find(images.begin(), images.end()) == images.end();
}

/// Whether a flat group, all of whose loops are mapped, fits into a split group. `long_rows` says whether the
/// split group has long rows.
bool flat_fits_split(const Group& flat, const AtomMap& map, const Group& split, bool long_rows) {
  const auto image = mapped(flat.all_atoms(), map);
  if (image.size() != flat.all_atoms().size()) return false;
  if (is_subset(image, split.outer)) return flat.sinks.empty() && (split.lane >= 0 || long_rows);
  const bool full = std::ranges::any_of(
      split.spaces, [&](const Atoms& space) { return same_set(image, united(split.outer, space)); });
  if (!full) return false;
  if (flat.sink_outer.empty()) return flat.sinks.empty() || split.lane < 0;
  return split.lane < 0 && same_set(mapped(flat.sink_outer, map), split.outer);
}

/// Maps the spaces of a split group to spaces of equal extents in another. Returns false when there is none
/// for a space.
bool map_spaces(const Group& from, AtomMap& map, Group& to) {
  for (const auto& space : from.spaces) {
    const auto image = mapped(space, map);
    if (image.size() == space.size()) {
      if (std::ranges::none_of(to.spaces, [&](const Atoms& other) { return same_set(image, other); }))
        return false;
      continue;
    }
    if (!image.empty()) return false;
    const Atoms* same = nullptr;
    for (const auto& other : to.spaces) {
      bool equal = other.size() == space.size();
      for (size_t i = 0; equal && i < other.size(); ++i)
        equal = to.extents[other[i]] == from.extents[space[i]];
      if (equal) same = &other;
    }
    if (same == nullptr) return false;
    for (size_t i = 0; i < space.size(); ++i) map[space[i]] = (*same)[i];
  }
  return true;
}

bool same_structure(const Group& from, AtomMap& map, Group& to, bool long_rows) {
  if (from.split && to.split) {
    const auto outer = mapped(from.outer, map);
    // In groups of a single row the row is a loop of extent one.
    const bool both_one = from.product(from.outer) == ir::Dim(1) && to.product(to.outer) == ir::Dim(1);
    if (both_one && from.outer.size() == 1 && to.outer.size() == 1) {
      map[from.outer[0]] = to.outer[0];
      return map_spaces(from, map, to);
    }
    if (outer.size() != from.outer.size() || !same_set(outer, to.outer)) return false;
    if ((from.lane >= 0) != (to.lane >= 0) || (from.lane >= 0 && map.at(from.lane) != to.lane)) return false;
    return map_spaces(from, map, to);
  }
  const auto all = from.all_atoms();
  if (!from.split && to.split) return flat_fits_split(from, map, to, long_rows);
  if (from.split) return false;
  const auto image = mapped(all, map);
  if (image.size() != all.size() || !same_set(image, to.all_atoms())) return false;
  return from.sink_outer.empty() || to.sink_outer.empty() ||
         same_set(mapped(from.sink_outer, map), to.sink_outer);
}

}  // namespace

void Fusion::merge_operands(ItemId index) {
  for (size_t k = 0; k < items_[index].operands.size(); ++k) {
    const auto value = items_[index].operands[k].value;
    if (!value.valid()) continue;
    const auto& made_by = makers(value);
    if (made_by.size() != 1) continue;
    const auto other = items_[made_by[0]].group, own = items_[index].group;
    if (other.valid() && other != own) merge(own, other, index);
  }
}

bool Fusion::merge(GroupId into, GroupId other, ItemId index) {
  auto *a = &groups_[into], *b = &groups_[other];
  const auto& target = target_of(*a);
  if (!(a->device == b->device) || std::ssize(a->items) + std::ssize(b->items) > target.most_items ||
      count_expensive(*a) + count_expensive(*b) > target.most_expensive ||
      (!a->chunks.is(0) && !b->chunks.is(0) && a->chunks != b->chunks))
    return false;
  if (!clusters_.may_merge(a->cluster, b->cluster)) return false;
  const auto& item = items_[index];
  AtomMap map;  // from atoms of b to atoms of a
  bool changed = true;
  for (int tries = 0; changed && tries < 16; ++tries) {
    changed = false;
    map.clear();
    for (size_t k = 0; k < item.operands.size() && !changed; ++k) {
      const auto value = item.operands[k].value;
      if (!value.valid()) continue;
      const auto& made_by = makers(value);
      if (made_by.size() != 1 || items_[made_by[0]].group != other) continue;
      const auto dims = dims_in(*b, value);
      if (!dims) return false;
      const auto& sizes = graph_.tensor_type(value).sizes;
      for (size_t d = 0; d < sizes.size() && !changed; ++d) {
        const auto at = first_dim(item, k) + d;
        if (!(*dims)[d] || (*dims)[d]->empty()) continue;
        if (!pair_up(*a, a->placement[index][at], *b, *(*dims)[d], map, changed)) return false;
      }
    }
  }
  if (changed || !is_injective(map)) return false;
  if (b->split && !a->split) {
    AtomMap inverse;
    for (const auto& [from, to] : map) inverse[to] = from;
    map = std::move(inverse);
    std::swap(a, b);
    std::swap(into, other);
  }
  if (!same_structure(*b, map, *a, a->split && has_long_rows(*a)) || !reads_agree(into, other, map))
    return false;
  absorb(into, other, map);
  return true;
}

/// Whether items of each group can read the other's values inside the merged kernel: the same elements at the
/// same iterations, rather than memory that the kernel has yet to write.
bool Fusion::reads_agree(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map) {
  auto &a = groups_[into], &b = groups_[other];
  const auto made_in = [&](ir::ValueId value, GroupId group) {
    return std::ranges::any_of(makers(value), [&](ItemId maker) { return items_[maker].group == group; });
  };
  const auto in_a = [&](const Atoms& atoms, bool translate) {
    return translate ? mapped(atoms, map) : atoms;
  };
  for (const bool reader_is_a : {true, false}) {
    auto &reader = reader_is_a ? a : b, &maker = reader_is_a ? b : a;
    const auto maker_index = reader_is_a ? other : into;
    for (auto index : reader.items) {
      const auto& item = items_[index];
      if (item.source.valid() && made_in(item.source, maker_index)) return false;
      for (size_t k = 0; k < item.operands.size(); ++k) {
        const auto value = item.operands[k].value;
        if (!value.valid() || !made_in(value, maker_index)) continue;
        const auto atoms_before = maker.extents.size();
        const auto dims = dims_in(maker, value);
        if (!dims || maker.extents.size() != atoms_before) return false;
        const auto& sizes = graph_.tensor_type(value).sizes;
        for (size_t d = 0; d < sizes.size(); ++d) {
          if (!(*dims)[d] || (*dims)[d]->empty()) continue;
          if (in_a(*(*dims)[d], reader_is_a) !=
              in_a(reader.placement.at(index)[first_dim(item, k) + d], !reader_is_a))
            return false;
        }
      }
    }
  }
  return true;
}

void Fusion::absorb(GroupId into, GroupId other, const std::map<int32_t, int32_t>& map) {
  if (memory_ != nullptr) memory_->replace({work_of(into), work_of(other)}, merged_work(into, other));
  auto &a = groups_[into], &b = groups_[other];
  const auto translate = [&](std::vector<Atoms> dims) {
    for (auto& atoms : dims)
      for (auto& atom : atoms) atom = map.at(atom);
    return dims;
  };
  for (auto& [item, dims] : b.placement) a.placement[item] = translate(dims);
  for (auto& [value, dims] : b.values) a.values[value] = translate(dims);
  for (auto item : b.items) items_[item].group = into;
  a.items.insert(a.items.end(), b.items.begin(), b.items.end());
  std::ranges::sort(a.items);
  a.sinks.insert(a.sinks.end(), b.sinks.begin(), b.sinks.end());
  if (a.sink_outer.empty() && !a.split) a.sink_outer = mapped(b.sink_outer, map);
  if (a.chunks.is(0)) a.chunks = b.chunks;
  const auto x = a.cluster, y = b.cluster;
  b = Group();
  b.is_absorbed = true;
  auto& key = times_[clusters_.find(x)].key;
  key = std::max(key, times_[clusters_.find(y)].key);
  const auto start = std::max(start_of(x), start_of(y));
  clusters_.merge(x, y);
  set_start(x, start);
}

}  // namespace antegrad::schedule
