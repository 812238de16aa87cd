#include "program/write_scatter.h"

#include <ATen/ops/empty.h>

#include <unordered_map>

#include "aten/convert.h"

namespace antegrad::program {
namespace {

using ir::Dim;

/// a / b if that is a whole number.
std::optional<Dim> quotient(const Dim& a, const Dim& b) {
  if (b.is(0)) return std::nullopt;
  auto result = floor_div(a, b);
  if (!(result * b == a)) return std::nullopt;
  return result;
}

/// Whether dimension `i` of the region goes through the same elements as dimension `d` of the tensor.
bool same_dimension(const ir::TensorType& tensor, size_t d, const Region& region, size_t i) {
  return region.sizes[i] == tensor.sizes[d] &&
         (region.strides[i] == tensor.strides[d] || tensor.sizes[d].is(1));
}

std::optional<Scatter> find_slice(const ir::TensorType& tensor, const Region& region) {
  if (region.sizes.size() != tensor.sizes.size()) return std::nullopt;
  std::optional<size_t> sliced;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (same_dimension(tensor, d, region, d)) continue;
    if (sliced) return std::nullopt;
    sliced = d;
  }
  if (!sliced) {
    if (!region.offset.is(0)) return std::nullopt;
    return Scatter{};
  }
  const auto d = *sliced;
  const auto start = quotient(region.offset, tensor.strides[d]);
  const auto step =
      region.sizes[d].is(1) ? Dim(1) : quotient(region.strides[d], tensor.strides[d]).value_or(0);
  if (!start || !step.is_constant() || step.constant() < 1) return std::nullopt;
  Scatter out;
  out.kind = Scatter::Kind::Slice;
  out.dim = static_cast<int64_t>(d);
  out.step = step.constant();
  out.start = *start;
  out.end = *start + (region.sizes[d] - Dim(1)) * step + Dim(1);
  return out;
}

std::optional<Scatter> find_select(const ir::TensorType& tensor, const Region& region) {
  if (region.sizes.size() + 1 != tensor.sizes.size()) return std::nullopt;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    bool same = true;
    for (size_t i = 0; i < region.sizes.size(); ++i)
      same = same && same_dimension(tensor, i < d ? i : i + 1, region, i);
    const auto start = quotient(region.offset, tensor.strides[d]);
    if (!same || !start) continue;
    Scatter out;
    out.kind = Scatter::Kind::Select;
    out.dim = static_cast<int64_t>(d);
    out.start = *start;
    return out;
  }
  return std::nullopt;
}

/// Calls `use` with the place in memory of each element, in row-major order.
template <class Use>
void for_each_place(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                    const Use& use) {
  int64_t elements = 1;
  for (const auto size : sizes) elements *= size;
  for (int64_t k = 0; k < elements; ++k) {
    int64_t rest = k, place = offset;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) place += rest % sizes[d] * strides[d];
    use(place);
  }
}

std::optional<Scatter> find_positions(const ir::TensorType& tensor, const Region& region) {
  for (const auto* dims : {&tensor.sizes, &tensor.strides, &region.sizes, &region.strides})
    for (const auto& dim : *dims)
      if (!dim.is_constant()) return std::nullopt;
  if (!region.offset.is_constant()) return std::nullopt;
  std::unordered_map<int64_t, int64_t> position_of;
  for_each_place(aten::constants(tensor.sizes), aten::constants(tensor.strides), 0, [&](int64_t place) {
    position_of.emplace(place, static_cast<int64_t>(position_of.size()));
  });
  std::vector<int64_t> positions;
  bool inside = true;
  for_each_place(aten::constants(region.sizes), aten::constants(region.strides), region.offset.constant(),
                 [&](int64_t place) {
                   const auto found = position_of.find(place);
                   inside = inside && found != position_of.end();
                   if (inside) positions.push_back(found->second);
                 });
  // Elements that share a place would have been counted once.
  if (!inside || !tensor.numel().is(static_cast<int64_t>(position_of.size()))) return std::nullopt;
  Scatter out;
  out.kind = Scatter::Kind::Index;
  out.positions = at::empty({static_cast<int64_t>(positions.size())}, at::kLong);
  std::copy(positions.begin(), positions.end(), out.positions.data_ptr<int64_t>());
  return out;
}

}  // namespace

std::optional<Scatter> find_scatter(const ir::TensorType& tensor, const Region& region) {
  if (auto found = find_slice(tensor, region)) return found;
  if (auto found = find_select(tensor, region)) return found;
  return find_positions(tensor, region);
}

}  // namespace antegrad::program
