// Gradients of views and embeddings, triangles of matrices, stacks: by padding, concatenating and comparing
// positions.
#include <limits>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// Resolves a position as in schemas: negative ones count from the end.
ir::Dim position(Builder& b, const ir::Dim& given, const ir::Dim& size) {
  if (b.least(given) >= 0) return given;
  if (b.largest(given) >= 0) throw NotHandled();
  return size + given;
}

/// Where slice(start, end, step) with so many elements begins; a start out of range is clamped.
ir::Dim slice_start(Builder& b, const Call& call, const ir::Dim& size, const ir::Dim& elements) {
  constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  const auto end = call.dim(4, kNoEnd);
  if (call.integer(5) == 1 && (end.is(kNoEnd) || end == size)) return size - elements;
  const auto start = position(b, call.dim(3, 0), size);
  if (b.least(start) < 0) return max(start, ir::Dim(0));
  const bool is_inside = b.least(elements) > 0 || b.least(size - start) >= 0;
  return is_inside ? start : min(start, size);
}

/// Zeros, except grad at start, start + step, …
void slice_backward(Builder& b, const Call& call) {
  auto grad = call.tensor(0);
  const auto dim = Call::wrapped(call.integer(2), b.rank(grad));
  const auto size = call.dims(1).at(dim);
  const auto start = slice_start(b, call, size, b.sizes(grad).at(dim));
  const auto step = call.integer(5);
  if (step != 1) {
    grad = b.merge_dims(b.pad(b.unsqueeze(grad, dim + 1), dim + 1, 0, step - 1), dim);
  }
  const auto covered = b.sizes(grad)[dim];
  b.define(call.output(0), b.pad(grad, dim, start, size - start - covered));
}

void select_backward(Builder& b, const Call& call) {
  const auto sizes = call.dims(1);
  const auto dim = Call::wrapped(call.integer(2), sizes.size());
  const auto& size = sizes[dim];
  const auto at = position(b, call.dim(3), size);
  b.define(call.output(0), b.pad(b.unsqueeze(call.tensor(0), dim), dim, at, size - at - 1));
}

/// 0, 1, … along one dimension of a tensor of that rank.
Value positions(Builder& b, const ir::Dim& size, int64_t dim, size_t rank, const ir::Device& device) {
  return b.along(b.arange(size, device), dim, rank);
}

/// The diagonal is the last dimension of grad. It is padded to the size of the dimension that enumerates it,
/// laid along that dimension, and selected where the two positions differ by `offset`.
void diagonal_backward(Builder& b, const Call& call) {
  auto grad = call.tensor(0);
  const auto sizes = call.dims(1);
  const auto offset = call.integer(2);
  const auto dim1 = Call::wrapped(call.integer(3), sizes.size());
  const auto dim2 = Call::wrapped(call.integer(4), sizes.size());
  const auto along = offset >= 0 ? dim1 : dim2, across = offset >= 0 ? dim2 : dim1;
  const auto last = static_cast<int64_t>(b.rank(grad)) - 1;
  grad = b.pad(grad, last, 0, sizes[along] - b.sizes(grad).back());
  grad = b.unsqueeze(grad, last + 1);
  Dims order;
  for (int64_t dim = 0, other = 0; dim < static_cast<int64_t>(sizes.size()); ++dim)
    order.push_back(dim == along ? last : dim == across ? last + 1 : other++);
  const auto device = b.type(grad).device;
  const auto rows = positions(b, sizes[dim1], dim1, sizes.size(), device);
  const auto columns = positions(b, sizes[dim2], dim2, sizes.size(), device);
  const auto hit = b.compare("eq", b.add(rows, offset), columns);
  b.define(call.output(0), b.where(hit, b.permute(grad, order), 0.0));
}

template <bool kLower>
void triangle(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  const auto rank = b.rank(x);
  const auto& type = call.type(x);
  if (rank < 2 || !ir::is_floating(type.dtype)) throw NotHandled();
  const auto row = static_cast<int64_t>(rank) - 2;
  const auto sizes = type.sizes;
  const auto device = type.device;
  const auto rows = positions(b, sizes[rank - 2], row, rank, device);
  const auto columns = positions(b, sizes[rank - 1], row + 1, rank, device);
  const auto keep = b.compare(kLower ? "le" : "ge", b.sub(columns, rows), call.dim(1, 0));
  b.define(call.output(0), b.where(keep, x, 0.0));
}

void stack(Builder& b, const Call& call) {
  const auto dim = Call::wrapped(call.integer(1, 0), call.output_type(0).sizes.size());
  ir::Arg::List parts;
  for (auto part : call.tensors(0)) {
    if (b.type(part).dtype != call.output_type(0).dtype) throw NotHandled();
    parts.push_back(b.unsqueeze(part, dim));
  }
  b.emit_as(call.output(0), "aten.cat", {std::move(parts), dim});
}

/// Generated code sums the gradients of all rows, so those of the padding row are set to zero first.
void embedding_dense_backward(Builder& b, const Call& call) {
  const auto grad = call.tensor(0), indices = call.tensor(1);
  const auto padding = call.integer(3);
  if (padding < 0 || call.flag(4)) throw NotHandled();
  const auto is_padding =
      b.unsqueeze(b.compare("eq", indices, padding), static_cast<int64_t>(b.rank(indices)));
  const auto masked = b.where(is_padding, 0.0, grad);
  b.emit_as(call.output(0), "aten.embedding_dense_backward", {masked, indices, call.arg(2), -1, false});
}

constexpr DecompositionRow kIndexingRows[] = {
    {"aten.stack", stack},
    {"aten.embedding_dense_backward", embedding_dense_backward},
    {"aten.slice_backward", slice_backward},
    {"aten.select_backward", select_backward},
    {"aten.diagonal_backward", diagonal_backward},
    {"aten.tril", triangle<true>},
    {"aten.triu", triangle<false>},
};

}  // namespace

std::span<const DecompositionRow> indexing_decompositions() { return kIndexingRows; }

}  // namespace antegrad::passes
