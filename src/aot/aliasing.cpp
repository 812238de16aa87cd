#include "aot/aliasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "antegrad/error.h"

namespace antegrad::aot {
namespace {

constexpr int64_t kMaxExact = 1'000'000;

/// Calls fn(offset) for each element.
template <class Fn>
void for_each_offset(const ir::TensorType& type, Fn&& fn) {
  const auto rank = type.sizes.size();
  std::vector<int64_t> index(rank, 0);
  if (type.numel().constant() == 0) return;
  int64_t offset = type.offset.constant();
  while (true) {
    fn(offset);
    size_t d = rank;
    while (d > 0) {
      --d;
      offset += type.strides[d].constant();
      if (++index[d] < type.sizes[d].constant()) break;
      offset -= type.strides[d].constant() * type.sizes[d].constant();
      index[d] = 0;
      if (d == 0) return;
    }
    if (rank == 0) return;
  }
}

std::vector<int32_t> find_components(size_t count, const std::vector<std::pair<int32_t, int32_t>>& edges) {
  std::vector<int32_t> root(count);
  std::iota(root.begin(), root.end(), 0);
  auto find = [&](int32_t i) {
    while (root[i] != i) i = root[i];
    return i;
  };
  for (auto [a, b] : edges) {
    auto x = find(a);
    auto y = find(b);
    root[std::max(x, y)] = std::min(x, y);
  }
  for (size_t i = 0; i < count; ++i) root[i] = find(static_cast<int32_t>(i));
  return root;
}

/// The part of its storage that a graph input and the function's views of it cover.
struct Region {
  const ir::TensorType* type = nullptr;  ///< null when it is not a tensor
  Extent reach;
  bool escapes = false;  ///< views reach beyond the input itself
};

Extent united(const Extent& a, const Extent& b) {
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

std::vector<Region> find_regions(const capture::Trace& trace) {
  const auto& graph = trace.graph;
  std::vector<Region> regions(graph.inputs.size());
  std::unordered_map<int32_t, size_t> input_of;
  const auto growing = find_growing(trace);
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].type = graph.type_of(graph.inputs[i].value).tensor();
    if (regions[i].type == nullptr) continue;
    regions[i].reach = extent_of(*regions[i].type);
    if (!growing[i]) input_of[graph.inputs[i].value.index] = i;
  }
  std::unordered_set<ir::ValueId> strided;  // only these may leave the tensor that they are called on
  for (const auto& node : graph.nodes)
    if (node.op.rfind("aten.as_strided", 0) == 0 || node.op.rfind("aten.resize", 0) == 0 ||
        node.op.rfind("aten.set_", 0) == 0)
      for (auto output : node.outputs) strided.insert(output);
  for (const auto id : graph.values.ids()) {
    const auto& value = graph.values[id];
    const auto* type = value.type.tensor();
    auto found = input_of.find(value.base.index);
    if (type == nullptr || found == input_of.end()) continue;
    auto& region = regions[found->second];
    const auto extent = extent_of(*type);
    if (type->dtype != region.type->dtype || extent.first == extent.last) continue;
    region.escapes |= strided.contains(id) && !covers(*region.type, *type);
    region.reach = united(region.reach, extent);
  }
  return regions;
}

bool meet(const Region& a, const Region& b) {
  if (a.escapes || b.escapes) return true;  // in another call it may reach further
  return overlap(*a.type, *b.type);
}

AliasGroup make_group(const capture::Trace& trace, const std::vector<Region>& regions,
                      std::vector<int32_t> members) {
  AliasGroup group;
  auto region = [&](int32_t i) -> const Region& { return regions[i]; };
  group.dtype = region(members[0]).type->dtype;
  group.extent = region(members[0]).reach;
  for (auto i : members) {
    group.extent = united(group.extent, region(i).reach);
    group.escapes |= region(i).escapes;
    if (trace.inputs[i].memory.bits != trace.inputs[members[0]].memory.bits)
      throw Error(
          ErrorCode::UnsupportedTensor, "functionalize",
          fmt::format("inputs {} and {} share memory, one is conjugated or negated, and one is written",
                      members[0], i),
          "Pass resolve_conj() or resolve_neg() of it");
    if (region(i).type->dtype == group.dtype) continue;
    const auto& inputs = trace.graph.inputs;
    throw Error(ErrorCode::UnsupportedTensor, "functionalize",
                fmt::format("inputs '{}' ({}) and '{}' ({}) share memory, and one of them is written",
                            inputs[members[0]].name, ir::name(group.dtype), inputs[i].name,
                            ir::name(region(i).type->dtype)),
                "Pass tensors of one dtype, or copies");
  }
  group.members = std::move(members);
  return group;
}

}  // namespace

Extent extent_of(const ir::TensorType& type) {
  Extent extent{type.offset.constant(), type.offset.constant()};
  int64_t last = 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].constant() == 0) return extent;
    last += (type.sizes[d].constant() - 1) * type.strides[d].constant();
  }
  extent.last += last;
  return extent;
}

bool overlaps_itself(const ir::TensorType& type) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].constant() == 0) return false;
    if (type.sizes[d].constant() > 1) dims.emplace_back(type.strides[d].constant(), type.sizes[d].constant());
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // of the dims so far
  for (auto [stride, size] : dims) {
    if (stride <= reach) {
      if (type.numel().constant() > kMaxExact) return true;
      std::unordered_set<int64_t> seen;
      bool twice = false;
      for_each_offset(type, [&](int64_t offset) { twice |= !seen.insert(offset).second; });
      return twice;
    }
    reach += stride * (size - 1);
  }
  return false;
}

bool covers(const ir::TensorType& whole, const ir::TensorType& part) {
  const auto outer = extent_of(whole);
  const auto inner = extent_of(part);
  if (inner.first == inner.last) return true;
  if (inner.first < outer.first || inner.last > outer.last) return false;
  if (whole.numel().constant() == outer.last - outer.first && !overlaps_itself(whole))
    return true;  // no gaps
  if (whole.numel().constant() + part.numel().constant() > kMaxExact) return false;
  std::unordered_set<int64_t> offsets;
  for_each_offset(whole, [&](int64_t offset) { offsets.insert(offset); });
  bool all = true;
  for_each_offset(part, [&](int64_t offset) { all &= offsets.count(offset) > 0; });
  return all;
}

bool overlap(const ir::TensorType& a, const ir::TensorType& b) {
  const auto x = extent_of(a);
  const auto y = extent_of(b);
  const auto p = ir::size_in_bytes(a.dtype);
  const auto q = ir::size_in_bytes(b.dtype);
  if (x.first * p >= y.last * q || y.first * q >= x.last * p) return false;
  if (a.dtype != b.dtype) return true;
  const auto elements = a.numel().constant() + b.numel().constant();
  if (elements > kMaxExact) return true;
  std::unordered_set<int64_t> offsets;
  for_each_offset(a, [&](int64_t offset) { offsets.insert(offset); });
  bool shared = false;
  for_each_offset(b, [&](int64_t offset) { shared |= offsets.count(offset) > 0; });
  return shared;
}

std::vector<bool> find_growing(const capture::Trace& trace) {
  const auto& graph = trace.graph;
  std::unordered_set<int32_t> grown;
  for (const auto& node : graph.nodes) {
    const auto* first = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
    if (first == nullptr || node.outputs.empty() || node.op.rfind("aten.resize", 0) != 0) continue;
    if (extent_of(graph.tensor_type(node.outputs[0])).last > extent_of(graph.tensor_type(*first)).last)
      grown.insert(first->index);
  }
  std::vector<bool> growing;
  for (const auto& input : graph.inputs) growing.push_back(grown.count(input.value.index) > 0);
  return growing;
}

std::vector<AliasGroup> find_alias_groups(const capture::Trace& trace, const std::vector<bool>& written) {
  if (std::none_of(written.begin(), written.end(), [](bool w) { return w; })) return {};
  const auto regions = find_regions(trace);
  const auto count = regions.size();
  std::vector<std::pair<int32_t, int32_t>> edges;
  std::unordered_map<int32_t, std::vector<size_t>> on_storage;
  for (size_t i = 0; i < count; ++i) {
    const auto storage = trace.inputs[i].memory.storage;
    if (storage < 0) continue;
    auto& others = on_storage[storage];
    for (auto j : others)
      if (meet(regions[j], regions[i])) edges.emplace_back(static_cast<int32_t>(j), static_cast<int32_t>(i));
    others.push_back(i);
  }
  const auto component = find_components(count, edges);
  std::vector<std::vector<int32_t>> members(count);
  for (size_t i = 0; i < count; ++i) members[component[i]].push_back(static_cast<int32_t>(i));
  std::vector<AliasGroup> groups;
  for (size_t root = 0; root < count; ++root) {
    const bool needs_base = members[root].size() > 1 || (members[root].size() == 1 && regions[root].escapes);
    const bool any_written =
        std::any_of(members[root].begin(), members[root].end(), [&](int32_t i) { return written[i]; });
    if (needs_base && any_written) groups.push_back(make_group(trace, regions, std::move(members[root])));
  }
  return groups;
}

}  // namespace antegrad::aot
