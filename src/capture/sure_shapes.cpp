#include "capture/sure_shapes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "ir/ops.h"

namespace antegrad::capture {
namespace {

using ir::Dim;
using ir::TensorType;
using Dims = std::vector<Dim>;

/// An op whose arguments are looked at. Functions return nothing, or null, where an argument is of another
/// kind.
struct Op {
  const ir::Graph& graph;
  const ir::Node& node;
  const TensorType& out;  ///< the first result

  const ir::Arg* arg(size_t i) const { return i < node.args.size() ? &node.args[i] : nullptr; }
  const TensorType* type_of(const ir::Arg* arg) const {
    const auto* value = arg != nullptr ? arg->as<ir::ValueId>() : nullptr;
    return value != nullptr ? graph.type_of(*value).tensor() : nullptr;
  }
  const TensorType* tensor(size_t i) const { return type_of(arg(i)); }
  /// A tensor in row-major order.
  const TensorType* dense(size_t i) const {
    const auto* type = tensor(i);
    return type != nullptr && type->is_contiguous() ? type : nullptr;
  }
  std::optional<int64_t> integer(size_t i) const {
    const auto* dim = arg(i) != nullptr ? arg(i)->as<Dim>() : nullptr;
    return dim != nullptr && dim->is_constant() ? std::optional(dim->constant()) : std::nullopt;
  }
  /// A dim of a tensor of that rank, counted from the front.
  std::optional<size_t> dim(size_t i, size_t rank) const {
    auto number = integer(i);
    if (!number) return std::nullopt;
    if (*number < 0) *number += static_cast<int64_t>(rank);
    return *number >= 0 && std::cmp_less(*number, rank) ? std::optional(static_cast<size_t>(*number))
                                                        : std::nullopt;
  }
  const ir::Arg::List* list(size_t i) const {
    return arg(i) != nullptr ? arg(i)->as<ir::Arg::List>() : nullptr;
  }
};

/// Whether a tensor of these sizes is expanded to `to` by broadcasting.
bool broadcasts(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  const auto offset = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d)
    if (!(from[d] == to[offset + d]) && !from[d].is(1)) return false;
  return true;
}

/// Whether all tensors among the arguments are in row-major order and are broadcast to `sizes`, where some
/// tensor has each of these sizes.
bool all_broadcast_to(const Op& op, const Dims& sizes) {
  std::vector<bool> found(sizes.size(), false);
  bool fine = true;
  ir::for_each_input(op.node, [&](ir::ValueId value) {
    const auto* type = op.graph.type_of(value).tensor();
    fine = fine && type != nullptr && type->is_contiguous() && broadcasts(type->sizes, sizes);
    for (size_t d = 0; fine && d < type->sizes.size(); ++d) {
      const auto at = sizes.size() - type->sizes.size() + d;
      found[at] = found[at] || type->sizes[d] == sizes[at];
    }
  });
  return fine && std::ranges::find(found, false) == found.end();
}

bool is_pointwise(const Op& op) { return op.out.is_contiguous() && all_broadcast_to(op, op.out.sizes); }

/// A result with the sizes of the first argument, and arguments that are tensors of those sizes.
bool is_like_first(const Op& op) {
  const auto* self = op.dense(0);
  return self != nullptr && op.out.is_contiguous() && op.out.sizes == self->sizes;
}

bool is_whole_reduction(const Op& op) { return op.tensor(0) != nullptr && op.out.sizes.empty(); }

/// A loss of two tensors of one shape.
bool is_loss(const Op& op) {
  const auto* self = op.dense(0);
  return self != nullptr && op.out.is_contiguous() && all_broadcast_to(op, self->sizes) &&
         (op.out.sizes.empty() || op.out.sizes == self->sizes);
}

/// Arguments: the tensor, a list of dims, keepdim.
bool is_reduction(const Op& op) {
  const auto* self = op.dense(0);
  const auto* dims = op.list(1);
  if (self == nullptr || dims == nullptr || dims->empty() || !op.out.is_contiguous()) return false;
  const auto* keep = op.arg(2) != nullptr ? op.arg(2)->as<bool>() : nullptr;
  std::vector<bool> reduced(self->sizes.size(), false);
  for (const auto& one : *dims) {
    const auto* dim = one.as<Dim>();
    if (dim == nullptr || !dim->is_constant()) return false;
    auto number = dim->constant();
    if (number < 0) number += static_cast<int64_t>(reduced.size());
    if (number < 0 || std::cmp_greater_equal(number, reduced.size())) return false;
    reduced[number] = true;
  }
  Dims sizes;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) sizes.push_back(self->sizes[d]);
    if (reduced[d] && keep != nullptr && *keep) sizes.emplace_back(1);
  }
  return op.out.sizes == sizes;
}

bool is_product(const Op& op, size_t first) {
  const auto* a = op.tensor(first);
  const auto* b = op.tensor(first + 1);
  if (a == nullptr || b == nullptr || a->sizes.size() < 2 || a->sizes.size() != b->sizes.size()) return false;
  const auto rank = a->sizes.size();
  if (!(a->sizes[rank - 1] == b->sizes[rank - 2]) || !op.out.is_contiguous()) return false;
  auto sizes = a->sizes;
  sizes.back() = b->sizes.back();
  return op.out.sizes == sizes && std::equal(a->sizes.begin(), a->sizes.end() - 2, b->sizes.begin());
}

bool is_product_and_sum(const Op& op) {
  const auto* bias = op.tensor(0);
  return bias != nullptr && broadcasts(bias->sizes, op.out.sizes) && is_product(op, 1);
}

bool is_cat(const Op& op) {
  const auto* tensors = op.list(0);
  if (tensors == nullptr || tensors->empty() || !op.out.is_contiguous()) return false;
  const auto rank = op.out.sizes.size();
  const auto dim = op.arg(1) == nullptr && rank > 0 ? std::optional<size_t>(0) : op.dim(1, rank);
  if (!dim) return false;
  Dim sum;
  for (const auto& one : *tensors) {
    const auto* type = op.type_of(&one);
    if (type == nullptr || !type->is_contiguous() || type->sizes.size() != rank) return false;
    for (size_t d = 0; d < rank; ++d)
      if (d != *dim && !(type->sizes[d] == op.out.sizes[d])) return false;
    sum = sum + type->sizes[*dim];
  }
  return sum == op.out.sizes[*dim];
}

/// Arguments: the tensor, a dim, indices.
bool is_index_select(const Op& op) {
  const auto *self = op.dense(0), *index = op.dense(2);
  if (self == nullptr || index == nullptr || index->sizes.size() != 1 || !op.out.is_contiguous())
    return false;
  const auto dim = op.dim(1, self->sizes.size());
  if (!dim) return false;
  auto sizes = self->sizes;
  sizes[*dim] = index->sizes[0];
  return op.out.sizes == sizes;
}

/// Arguments: the tensor, a dim, indices, what is added.
bool is_index_add(const Op& op) {
  const auto *self = op.dense(0), *index = op.dense(2), *source = op.dense(3);
  if (self == nullptr || index == nullptr || source == nullptr || index->sizes.size() != 1) return false;
  const auto dim = op.dim(1, self->sizes.size());
  if (!dim || !is_like_first(op)) return false;
  auto sizes = self->sizes;
  sizes[*dim] = index->sizes[0];
  return source->sizes == sizes;
}

/// Arguments: a table, indices.
bool is_embedding(const Op& op) {
  const auto *table = op.dense(0), *index = op.dense(1);
  if (table == nullptr || index == nullptr || table->sizes.size() != 2 || !op.out.is_contiguous())
    return false;
  auto sizes = index->sizes;
  sizes.push_back(table->sizes[1]);
  return op.out.sizes == sizes;
}

/// Arguments: the sizes.
bool is_factory(const Op& op) {
  const auto* sizes = op.list(0);
  return sizes != nullptr && op.out.is_contiguous() &&
         std::equal(sizes->begin(), sizes->end(), op.out.sizes.begin(), op.out.sizes.end(),
                    [](const ir::Arg& size, const Dim& of) {
                      return size.as<Dim>() != nullptr && *size.as<Dim>() == of;
                    });
}

/// Whether the result has the dims of the first argument in this order.
bool is_permuted(const Op& op, const std::vector<size_t>& order) {
  const auto& self = *op.tensor(0);
  for (size_t d = 0; d < order.size(); ++d)
    if (!(op.out.sizes[d] == self.sizes[order[d]]) || !(op.out.strides[d] == self.strides[order[d]]))
      return false;
  return op.out.offset == self.offset;
}

std::vector<size_t> in_order(size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

bool is_transpose(const Op& op) {
  const auto* self = op.tensor(0);
  if (self == nullptr || self->sizes.size() != op.out.sizes.size()) return false;
  auto order = in_order(self->sizes.size());
  if (op.node.args.size() == 1) {  // t
    if (order.size() > 2) return false;
    std::ranges::reverse(order);
    return is_permuted(op, order);
  }
  const auto a = op.dim(1, order.size()), b = op.dim(2, order.size());
  if (!a || !b) return false;
  std::swap(order[*a], order[*b]);
  return is_permuted(op, order);
}

bool is_permute(const Op& op) {
  const auto* self = op.tensor(0);
  const auto* dims = op.list(1);
  if (self == nullptr || dims == nullptr || dims->size() != self->sizes.size() ||
      op.out.sizes.size() != dims->size())
    return false;
  std::vector<size_t> order;
  for (const auto& one : *dims) {
    const auto* dim = one.as<Dim>();
    if (dim == nullptr || !dim->is_constant()) return false;
    order.push_back(static_cast<size_t>(dim->constant() +
                                        (dim->constant() < 0 ? static_cast<int64_t>(dims->size()) : 0)));
    if (order.back() >= dims->size()) return false;
  }
  return is_permuted(op, order);
}

bool is_unsqueeze(const Op& op) {
  const auto* self = op.tensor(0);
  if (self == nullptr || op.out.sizes.size() != self->sizes.size() + 1) return false;
  const auto at = op.dim(1, op.out.sizes.size());
  if (!at || !op.out.sizes[*at].is(1) || !(op.out.offset == self->offset)) return false;
  const auto stride = *at < self->sizes.size() ? self->sizes[*at] * self->strides[*at] : Dim(1);
  if (!(op.out.strides[*at] == stride)) return false;
  for (size_t d = 0; d < self->sizes.size(); ++d) {
    const auto to = d < *at ? d : d + 1;
    if (!(op.out.sizes[to] == self->sizes[d]) || !(op.out.strides[to] == self->strides[d])) return false;
  }
  return true;
}

/// A view of a row-major tensor with as many elements. One of the sizes may be given as -1.
bool is_reshape(const Op& op) {
  const auto* self = op.dense(0);
  const auto* sizes = op.list(1);
  if (self == nullptr || sizes == nullptr || sizes->size() != op.out.sizes.size() || !op.out.is_contiguous())
    return false;
  for (size_t d = 0; d < sizes->size(); ++d) {
    const auto* size = (*sizes)[d].as<Dim>();
    if (size == nullptr || !(size->is(-1) || *size == op.out.sizes[d])) return false;
  }
  return self->numel() == op.out.numel() && op.out.offset == self->offset;
}

/// Arguments: the tensor, the sizes of which some may be given as -1.
bool is_expand(const Op& op) {
  const auto* self = op.tensor(0);
  const auto* sizes = op.list(1);
  if (self == nullptr || sizes == nullptr || sizes->size() != op.out.sizes.size() ||
      self->sizes.size() > sizes->size() || !(op.out.offset == self->offset))
    return false;
  const auto added = sizes->size() - self->sizes.size();
  for (size_t d = 0; d < sizes->size(); ++d) {
    const auto* size = (*sizes)[d].as<Dim>();
    if (size == nullptr || !(size->is(-1) || *size == op.out.sizes[d])) return false;
    const bool same = d >= added && op.out.sizes[d] == self->sizes[d - added];
    const auto stride = same ? self->strides[d - added] : Dim(0);
    if (!(op.out.strides[d] == stride) || (d >= added && !same && !self->sizes[d - added].is(1)))
      return false;
  }
  return true;
}

using Check = bool (*)(const Op&);

const std::unordered_map<std::string_view, Check>& checks() {
  static const auto& table = *new const std::unordered_map<std::string_view, Check>{
      {"aten.sum", is_whole_reduction},
      {"aten.mean", is_whole_reduction},
      {"aten.max", is_whole_reduction},
      {"aten.min", is_whole_reduction},
      {"aten.sum.dim_IntList", is_reduction},
      {"aten.mean.dim", is_reduction},
      {"aten.amax", is_reduction},
      {"aten.amin", is_reduction},
      {"aten.logsumexp", is_reduction},
      {"aten._softmax", is_like_first},
      {"aten._log_softmax", is_like_first},
      {"aten.cumsum", is_like_first},
      {"aten.mse_loss", is_loss},
      {"aten.smooth_l1_loss", is_loss},
      {"aten.huber_loss", is_loss},
      {"aten.mm", [](const Op& op) { return is_product(op, 0); }},
      {"aten.bmm", [](const Op& op) { return is_product(op, 0); }},
      {"aten.addmm", is_product_and_sum},
      {"aten.baddbmm", is_product_and_sum},
      {"aten.cat", is_cat},
      {"aten.index_select", is_index_select},
      {"aten.index_add", is_index_add},
      {"aten.embedding", is_embedding},
      {"aten.zeros_like", is_like_first},
      {"aten.ones_like", is_like_first},
      {"aten.full_like", is_like_first},
      {"aten.zeros", is_factory},
      {"aten.ones", is_factory},
      {"aten.full", is_factory},
      {"aten.t", is_transpose},
      {"aten.transpose.int", is_transpose},
      {"aten.permute", is_permute},
      {"aten.unsqueeze", is_unsqueeze},
      {"aten.view", is_reshape},
      {"aten._unsafe_view", is_reshape},
      {"aten.expand", is_expand},
  };
  return table;
}

}  // namespace

bool has_sure_shapes(const ir::Graph& over_symbols, const ir::Node& node) {
  if (node.outputs.size() != 1 || !node.effects.none() || node.functional || !node.returns.empty())
    return false;
  const auto* out = over_symbols.type_of(node.outputs[0]).tensor();
  if (out == nullptr || out->device.kind != ir::Device::Kind::Cpu) return false;
  const Op op{over_symbols, node, *out};
  if (const auto check = checks().find(node.op); check != checks().end()) return check->second(op);
  const auto* info = ir::find_op(node.op);
  return info != nullptr && info->kind == ir::OpKind::Pointwise && node.op.starts_with("aten.") &&
         is_pointwise(op);
}

}  // namespace antegrad::capture
