#include "aot/aliasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
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
    while (root[static_cast<size_t>(i)] != i) i = root[static_cast<size_t>(i)];
    return i;
  };
  for (auto [a, b] : edges) {
    auto x = find(a);
    auto y = find(b);
    root[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
  }
  for (size_t i = 0; i < count; ++i) root[i] = find(static_cast<int32_t>(i));
  return root;
}

AliasGroup make_group(const capture::Trace& trace, std::vector<int32_t> members) {
  AliasGroup group;
  auto type = [&](int32_t i) -> const ir::TensorType& {
    return trace.graph.tensor_type(trace.graph.inputs[static_cast<size_t>(i)].value);
  };
  group.dtype = type(members[0]).dtype;
  group.extent = extent_of(type(members[0]));
  for (auto i : members) {
    if (type(i).dtype != group.dtype) {
      const auto& inputs = trace.graph.inputs;
      throw Error(ErrorCode::UnsupportedTensor, "functionalize",
                  fmt::format("inputs '{}' ({}) and '{}' ({}) share memory, and one of them is written",
                              inputs[static_cast<size_t>(members[0])].name, ir::name(group.dtype),
                              inputs[static_cast<size_t>(i)].name, ir::name(type(i).dtype)),
                  "Pass tensors of one dtype, or copies");
    }
    const auto extent = extent_of(type(i));
    group.extent.first = std::min(group.extent.first, extent.first);
    group.extent.last = std::max(group.extent.last, extent.last);
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

bool overlap(const ir::TensorType& a, const ir::TensorType& b) {
  const auto x = extent_of(a);
  const auto y = extent_of(b);
  if (x.first >= y.last || y.first >= x.last) return false;
  if (a.dtype != b.dtype) return true;
  const auto elements = a.numel().constant() + b.numel().constant();
  if (elements > kMaxExact) return true;
  std::unordered_set<int64_t> offsets;
  for_each_offset(a, [&](int64_t offset) { offsets.insert(offset); });
  bool shared = false;
  for_each_offset(b, [&](int64_t offset) { shared |= offsets.count(offset) > 0; });
  return shared;
}

std::vector<AliasGroup> find_alias_groups(const capture::Trace& trace, const std::vector<bool>& written) {
  const auto count = trace.graph.inputs.size();
  std::vector<std::pair<int32_t, int32_t>> edges;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      if (trace.input_storage[i] < 0 || trace.input_storage[i] != trace.input_storage[j]) continue;
      const auto& a = trace.graph.tensor_type(trace.graph.inputs[i].value);
      const auto& b = trace.graph.tensor_type(trace.graph.inputs[j].value);
      if (overlap(a, b)) edges.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(j));
    }
  }
  const auto component = find_components(count, edges);
  std::vector<AliasGroup> groups;
  for (size_t root = 0; root < count; ++root) {
    std::vector<int32_t> members;
    bool any_written = false;
    for (size_t i = 0; i < count; ++i) {
      if (component[i] != static_cast<int32_t>(root)) continue;
      members.push_back(static_cast<int32_t>(i));
      any_written |= written[i];
    }
    if (members.size() > 1 && any_written) groups.push_back(make_group(trace, std::move(members)));
  }
  return groups;
}

}  // namespace antegrad::aot
