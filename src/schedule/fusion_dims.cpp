// Which loops of a group the dims of a value are.
#include <algorithm>

#include "schedule/fusion.h"

namespace antegrad::schedule {

/// Returns the atoms of each dim of a value that an item of the group reads.
std::optional<Dims> Fusion::dims_read(const Group& group, ir::ValueId id) const {
  const auto found = readers_.find(id);
  if (found == readers_.end()) return std::nullopt;
  const auto& sizes = graph_.tensor_type(id).sizes;
  for (auto reader : found->second) {
    const auto placed = group.placement.find(reader);
    if (placed == group.placement.end()) continue;
    const auto& item = items_[reader];
    for (size_t k = 0; k < item.operands.size(); ++k) {
      if (item.operands[k].value != id) continue;
      Dims dims(sizes.size());
      for (size_t d = 0; d < sizes.size(); ++d)
        if (const auto at = first_dim(item, k) + d; sizes[d] == item.sizes[at]) dims[d] = placed->second[at];
      return dims;
    }
  }
  return std::nullopt;
}

std::optional<Dims> Fusion::dims_in(Group& group, ir::ValueId id) const {
  std::vector<ir::ValueId> chain;
  while (places_.is_view(id)) {
    chain.push_back(id);
    id = places_.viewed(id);
  }
  const auto found = group.values.find(id);
  if (found == group.values.end()) return std::nullopt;
  Dims dims(found->second.begin(), found->second.end());
  for (auto view = chain.rbegin(); view != chain.rend(); ++view) {
    group.pending.push_back(&dims);
    const auto next = group.through(graph_.node(places_.view_node(*view)), dims, graph_.tensor_type(id).sizes,
                                    graph_.tensor_type(*view).sizes);
    group.pending.pop_back();
    if (!next) return std::nullopt;
    dims = *next;
    id = *view;
  }
  return dims;
}

/// Whether rows are so long that the scalar work done once per row does not matter.
bool Fusion::has_long_rows(const Group& group) const {
  return likely(group.product(group.spaces[0])) >= target_of(group).long_row;
}

/// Maps dims that no operand in the group determines to inner loops of the group, adding a space if needed.
bool Fusion::bind(Group& group, const Item& item, Dims& dims) const {
  std::vector<size_t> open;
  Atoms bound;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!dims[d] && item.sizes[d].is(1)) dims[d] = Atoms{};
    if (!dims[d])
      open.push_back(d);
    else
      bound = united(bound, *dims[d]);
  }
  if (!group.split) return open.empty() && same_set(bound, group.all_atoms());
  if (open.empty()) {
    if (is_subset(bound, group.outer))
      return group.lane >= 0 || item.form == Form::Reduction || has_long_rows(group) || !item.expensive;
    return std::ranges::any_of(
        group.spaces, [&](const Atoms& space) { return same_set(bound, united(group.outer, space)); });
  }
  if (!same_set(bound, group.outer)) return false;
  for (const auto& space : group.spaces) {
    size_t next = 0;
    std::vector<Atoms> found;
    for (auto d : open) {
      Atoms atoms;
      while (next < space.size() && !(group.product(atoms) == item.sizes[d])) atoms.push_back(space[next++]);
      if (group.product(atoms) == item.sizes[d]) found.push_back(std::move(atoms));
    }
    if (found.size() != open.size() || next != space.size()) continue;
    for (size_t i = 0; i < open.size(); ++i) dims[open[i]] = found[i];
    return true;
  }
  ir::Dim wanted = 1;
  for (auto d : open) wanted = wanted * item.sizes[d];
  const auto too_short = [&](const ir::Dim& n) { return likely(n) < 2 * target_of(group).least_inner; };
  if (group.lane >= 0 || too_short(wanted) || too_short(group.product(group.spaces[0]))) return false;
  Atoms space;
  for (auto d : open) {
    space.push_back(group.add_atom(item.sizes[d]));
    dims[d] = Atoms{space.back()};
  }
  group.spaces.push_back(std::move(space));
  return true;
}

}  // namespace antegrad::schedule
