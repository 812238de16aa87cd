#include "schedule/loop_plan.h"

#include <algorithm>

#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

struct Access {
  AtomAddress address;
  bool is_store = false;
};

std::vector<Access> accesses(const Fusion& fusion, const Group& group, const ir::PerValue<bool>& stored) {
  std::vector<Access> out;
  const auto& graph = fusion.graph();
  const auto add = [&](ir::ValueId value, const std::vector<Atoms>& placement, size_t first, bool is_store) {
    const auto& place = fusion.places().of(value);
    out.push_back(
        {address_of(group, graph.tensor_type(value).sizes, place.strides, place.offset, placement, first),
         is_store});
  };
  for (auto index : group.items) {
    const auto& item = fusion.item(index);
    const auto& placement = group.placement.at(index);
    for (size_t k = 0; k < item.operands.size(); ++k) {
      const auto value = item.operands[k].value;
      if (!value.valid()) continue;
      const auto* free = fusion.free_item(value);
      if ((free != nullptr && free->form != Form::Iota) ||
          group.values.contains(fusion.places().owner(value)))
        continue;
      add(value, placement, fusion.first_dim(item, k), false);
    }
    if (item.form == Form::Gather || item.form == Form::Scatter) {
      Access access;
      const auto& place = fusion.places().of(item.form == Form::Gather ? item.source : item.output);
      for (size_t d = 0; d < item.gather.size(); ++d)
        if (const auto i = item.gather[d].iteration; i >= 0) {
          const auto part = address_of(group, {item.sizes[i]}, {place.strides[d]}, 0, placement, i);
          access.address.terms.insert(access.address.terms.end(), part.terms.begin(), part.terms.end());
        }
      out.push_back(access);
    }
    if (item.form == Form::Random || item.form == Form::Iota)
      out.push_back(
          {address_of(group, item.sizes, ir::contiguous_strides(item.sizes), 0, placement, 0), false});
    if (std::ranges::find(group.sinks, index) != group.sinks.end()) {
      // Accumulator addresses have no terms for reduced dims.
      Access access;
      for (size_t d = 0; d < placement.size(); ++d)
        if (!item.reduced[d]) {
          const auto part = address_of(group, {item.sizes[d]}, {ir::Dim(1)}, 0, placement, d);
          access.address.terms.insert(access.address.terms.end(), part.terms.begin(), part.terms.end());
        }
      out.push_back(access);
    }
    const auto found = group.values.find(item.output);
    if (item.form != Form::Scatter && stored[item.output]) {
      if (found != group.values.end())
        add(item.output, found->second, 0, true);
      else if (item.form != Form::Reduction)
        add(item.output, placement, 0, true);
    }
  }
  return out;
}

/// Returns the access that decides the order of loops: the one over most of them, stores before loads.
const Access* reference(const std::vector<Access>& all, const Atoms& atoms) {
  const Access* best = nullptr;
  size_t best_count = 0;
  for (const auto& access : all) {
    size_t count = 0;
    for (const auto& [atom, coefficient] : access.address.terms)
      count += std::ranges::find(atoms, atom) != atoms.end() ? 1 : 0;
    if (count > best_count ||
        (count == best_count && best != nullptr && access.is_store && !best->is_store)) {
      best = &access;
      best_count = count;
    }
  }
  return best;
}

Atoms ordered(const ir::Graph& graph, Atoms atoms, const std::vector<Access>& all) {
  std::ranges::sort(atoms);
  const auto* access = reference(all, atoms);
  if (access == nullptr) return atoms;
  const auto key = [&](int32_t atom) {
    const auto c = access->address.coefficient(atom);
    return c.is(0) ? std::numeric_limits<int64_t>::max() : likely_stride(graph, c);
  };
  std::ranges::stable_sort(atoms, [&](int32_t a, int32_t b) { return key(a) > key(b); });
  return atoms;
}

bool may_collapse(const Group& group, int32_t slow, int32_t fast, const std::vector<Access>& all) {
  return std::ranges::all_of(all, [&](const Access& access) {
    return access.address.coefficient(slow) == access.address.coefficient(fast) * group.extents[fast];
  });
}

/// Makes loops of atoms in this order, joining neighbours that every access traverses as one loop.
std::vector<int32_t> make_loops(const Group& group, const Atoms& atoms, const std::vector<Access>& all,
                                LoopPlan& plan, int32_t lane) {
  std::vector<int32_t> loops;
  for (size_t i = 0; i < atoms.size(); ++i) {
    const auto atom = atoms[i];
    const auto& extent = group.extents[atom];
    const bool joins =
        i > 0 && atom != lane && atoms[i - 1] != lane && may_collapse(group, atoms[i - 1], atom, all);
    if (joins) {
      plan.loop_of[atoms[i - 1]] = -1;
      plan.extents[loops.back()] = plan.extents[loops.back()] * extent;
    } else {
      loops.push_back(static_cast<int32_t>(plan.extents.size()));
      plan.extents.push_back(extent);
    }
    plan.loop_of[atom] = loops.back();
  }
  return loops;
}

/// Plans the loops of a flat group; the last one is the vector loop.
void plan_flat(const ir::Graph& graph, const Group& group, const std::vector<Access>& all, LoopPlan& plan) {
  const auto atoms = ordered(graph, group.all_atoms(), all);
  auto loops = make_loops(group, atoms, all, plan, -1);
  plan.space_atoms = {atoms};
  if (loops.size() <= 1) {
    if (loops.empty()) {
      loops.push_back(static_cast<int32_t>(plan.extents.size()));
      plan.extents.emplace_back(1);
    }
    plan.spaces = {loops};
    return;
  }
  plan.outer.assign(loops.begin(), loops.end() - 1);
  plan.spaces = {{loops.back()}};
}

}  // namespace

ir::Dim AtomAddress::coefficient(int32_t atom) const {
  ir::Dim sum = 0;
  for (const auto& [a, c] : terms)
    if (a == atom) sum = sum + c;
  return sum;
}

AtomAddress address_of(const Group& group, const std::vector<ir::Dim>& sizes,
                       const std::vector<ir::Dim>& strides, const ir::Dim& offset,
                       const std::vector<Atoms>& placement, size_t first) {
  AtomAddress out;
  out.offset = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == ir::Dim(1)) continue;
    ir::Dim stride = strides[d];
    const auto& atoms = placement[first + d];
    for (auto atom = atoms.rbegin(); atom != atoms.rend(); ++atom) {
      out.terms.emplace_back(*atom, stride);
      stride = stride * group.extents[*atom];
    }
  }
  return out;
}

Affine LoopPlan::affine(const AtomAddress& address) const {
  Affine out;
  out.offset = address.offset;
  std::vector<ir::Dim> coefficients(extents.size());
  for (const auto& [atom, coefficient] : address.terms)
    if (const auto loop = loop_of[atom]; loop >= 0) coefficients[loop] = coefficients[loop] + coefficient;
  for (size_t loop = 0; loop < coefficients.size(); ++loop)
    if (!(coefficients[loop] == ir::Dim(0)))
      out.terms.emplace_back(static_cast<int32_t>(loop), coefficients[loop]);
  return out;
}

LoopPlan plan_loops(const Fusion& fusion, const Group& group, const ir::PerValue<bool>& stored) {
  LoopPlan plan;
  plan.loop_of.assign(group.extents.size(), -1);
  const auto all = accesses(fusion, group, stored);
  if (!group.split && group.sink_outer.empty()) {
    plan_flat(fusion.graph(), group, all, plan);
    return plan;
  }
  plan.outer_atoms = group.split ? group.outer : group.sink_outer;
  auto outer = ordered(fusion.graph(), plan.outer_atoms, all);
  if (group.lane >= 0) {
    std::erase(outer, group.lane);
    outer.push_back(group.lane);
  }
  plan.outer = make_loops(group, outer, all, plan, group.lane);
  if (group.lane >= 0) plan.lane = plan.outer.back();
  plan.space_atoms =
      group.split ? group.spaces : std::vector<Atoms>{without(group.all_atoms(), group.sink_outer)};
  for (const auto& space : plan.space_atoms)
    plan.spaces.push_back(make_loops(group, ordered(fusion.graph(), space, all), all, plan, -1));
  return plan;
}

}  // namespace antegrad::schedule
