#include <algorithm>
#include <cstring>

#include "passes/evaluate/evaluate.h"

namespace antegrad::passes {
namespace {

Literal gather(const Literal& from, const Walk& walk) {
  const size_t item = ir::size_in_bytes(from.dtype);
  Literal result{from.dtype, walk.sizes, {}};
  result.data.resize(result.numel() * item);
  size_t to = 0;
  walk.for_each([&](int64_t at) {
    std::memcpy(result.data.data() + to, from.data.data() + at * item, item);
    to += item;
  });
  return result;
}

/// Returns `into` with the elements on the walk replaced by those of `from`, in order.
std::optional<Literal> scatter(Literal into, const Literal& from, const Walk& walk) {
  if (from.dtype != into.dtype || from.sizes != walk.sizes) return std::nullopt;
  const size_t item = ir::size_in_bytes(from.dtype);
  size_t at_from = 0;
  walk.for_each([&](int64_t at) {
    std::memcpy(into.data.data() + at * item, from.data.data() + at_from, item);
    at_from += item;
  });
  return into;
}

/// Wraps a negative dimension; nothing if there is no such dimension.
std::optional<size_t> dimension(std::optional<int64_t> dim, size_t rank) {
  if (!dim) return std::nullopt;
  const auto count = static_cast<int64_t>(rank);
  const auto at = *dim < 0 ? *dim + count : *dim;
  if (at < 0 || at >= count) return std::nullopt;
  return at;
}

/// select(self, …, dim, index), with dim at the given position of the call.
std::optional<Walk> select_walk(const KnownCall& call, const Literal& self, size_t position) {
  auto walk = Walk::over(self.sizes);
  const auto dim = dimension(call.integer(position), self.sizes.size());
  const auto index = call.integer(position + 1);
  if (!dim || !index) return std::nullopt;
  const auto at = *index < 0 ? *index + self.sizes[*dim] : *index;
  if (at < 0 || at >= self.sizes[*dim]) return std::nullopt;
  walk.offset = at * walk.strides[*dim];
  walk.sizes.erase(walk.sizes.begin() + static_cast<int64_t>(*dim));
  walk.strides.erase(walk.strides.begin() + static_cast<int64_t>(*dim));
  return walk;
}

/// slice(self, …, dim=0, start=None, end=None, step=1), with dim at the given position of the call.
std::optional<Walk> slice_walk(const KnownCall& call, const Literal& self, size_t position) {
  auto walk = Walk::over(self.sizes);
  const auto dim = dimension(call.integer_or(position, 0), self.sizes.size());
  if (!dim) return std::nullopt;
  const auto size = self.sizes[*dim];
  auto start = call.integer_or(position + 1, 0), end = call.integer_or(position + 2, size);
  const auto step = call.integer_or(position + 3, 1);
  if (!start || !end || !step || *step <= 0) return std::nullopt;
  const auto first = std::clamp<int64_t>(*start < 0 ? *start + size : *start, 0, size);
  const auto last = std::clamp<int64_t>(*end < 0 ? *end + size : *end, first, size);
  walk.offset = first * walk.strides[*dim];
  walk.sizes[*dim] = (last - first) / *step + ((last - first) % *step != 0 ? 1 : 0);
  walk.strides[*dim] *= *step;
  return walk;
}

std::optional<Literal> same_elements(const KnownCall& call) {
  const auto* self = call.tensor(0);
  auto result = empty_literal(call.result_type());
  if (self == nullptr || !result || self->dtype != result->dtype || self->data.size() != result->data.size())
    return std::nullopt;
  result->data = self->data;
  return result;
}

std::optional<Literal> evaluate_expand(const KnownCall& call) {
  const auto* self = call.tensor(0);
  const auto result = empty_literal(call.result_type());
  if (self == nullptr || !result) return std::nullopt;
  const auto walk = Walk::over(self->sizes).broadcast_to(result->sizes);
  return walk ? std::optional(gather(*self, *walk)) : std::nullopt;
}

std::optional<Literal> evaluate_permute(const KnownCall& call) {
  const auto* self = call.tensor(0);
  const auto* dims = call.arg(1).as<ir::Arg::List>();
  if (self == nullptr || dims == nullptr || dims->size() != self->sizes.size()) return std::nullopt;
  const auto plain = Walk::over(self->sizes);
  auto walk = plain;
  std::vector<bool> seen(dims->size());
  for (size_t d = 0; d < dims->size(); ++d) {
    const auto* dim = (*dims)[d].as<ir::Dim>();
    if (dim == nullptr || !dim->is_constant()) return std::nullopt;
    const auto from = dimension(dim->constant(), dims->size());
    if (!from || seen[*from]) return std::nullopt;
    seen[*from] = true;
    walk.sizes[d] = plain.sizes[*from];
    walk.strides[d] = plain.strides[*from];
  }
  return gather(*self, walk);
}

std::optional<Literal> swap_dimensions(const Literal& self, std::optional<size_t> a,
                                       std::optional<size_t> b) {
  if (!a || !b) return std::nullopt;
  auto walk = Walk::over(self.sizes);
  std::swap(walk.sizes[*a], walk.sizes[*b]);
  std::swap(walk.strides[*a], walk.strides[*b]);
  return gather(self, walk);
}

std::optional<Literal> evaluate_t(const KnownCall& call) {
  const auto* self = call.tensor(0);
  if (self == nullptr || self->sizes.size() > 2) return std::nullopt;
  if (self->sizes.size() < 2) return *self;
  return swap_dimensions(*self, size_t{0}, size_t{1});
}

std::optional<Literal> evaluate_transpose(const KnownCall& call) {
  const auto* self = call.tensor(0);
  if (self == nullptr) return std::nullopt;
  const auto rank = self->sizes.size();
  return swap_dimensions(*self, dimension(call.integer(1), rank), dimension(call.integer(2), rank));
}

std::optional<Literal> evaluate_select(const KnownCall& call) {
  const auto* self = call.tensor(0);
  if (self == nullptr) return std::nullopt;
  const auto walk = select_walk(call, *self, 1);
  return walk ? std::optional(gather(*self, *walk)) : std::nullopt;
}

std::optional<Literal> evaluate_slice(const KnownCall& call) {
  const auto* self = call.tensor(0);
  if (self == nullptr) return std::nullopt;
  const auto walk = slice_walk(call, *self, 1);
  return walk ? std::optional(gather(*self, *walk)) : std::nullopt;
}

std::optional<Literal> evaluate_select_scatter(const KnownCall& call) {
  const auto *self = call.tensor(0), *source = call.tensor(1);
  if (self == nullptr || source == nullptr) return std::nullopt;
  const auto walk = select_walk(call, *self, 2);
  return walk ? scatter(*self, *source, *walk) : std::nullopt;
}

std::optional<Literal> evaluate_slice_scatter(const KnownCall& call) {
  const auto *self = call.tensor(0), *source = call.tensor(1);
  if (self == nullptr || source == nullptr) return std::nullopt;
  const auto walk = slice_walk(call, *self, 2);
  return walk ? scatter(*self, *source, *walk) : std::nullopt;
}

}  // namespace

const std::vector<EvaluatorEntry>& layout_evaluators() {
  static const auto& table = *new const std::vector<EvaluatorEntry>{
      {"aten.alias", same_elements},
      {"aten.detach", same_elements},
      {"aten.clone", same_elements},
      {"aten.view", same_elements},
      {"aten._unsafe_view", same_elements},
      {"aten.reshape", same_elements},
      {"aten._reshape_alias", same_elements},
      {"aten.unsqueeze", same_elements},
      {"aten.squeeze", same_elements},
      {"aten.squeeze.dim", same_elements},
      {"aten.squeeze.dims", same_elements},
      {"aten.expand", evaluate_expand},
      {"aten.permute", evaluate_permute},
      {"aten.t", evaluate_t},
      {"aten.transpose.int", evaluate_transpose},
      {"aten.select.int", evaluate_select},
      {"aten.slice.Tensor", evaluate_slice},
      {"aten.select_scatter", evaluate_select_scatter},
      {"aten.slice_scatter", evaluate_slice_scatter},
  };
  return table;
}

}  // namespace antegrad::passes
