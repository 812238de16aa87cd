#include <ATen/ATen.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

/// The CPU rolls one dim at a time by concatenating two slices, so the strides are those of cat.
Tensor rolled(const Tensor& x, const Sizes& shifts, const Sizes& dims) {
  TORCH_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) return contiguous_like(x);
  TORCH_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
              ", dims:", dims.size());
  if (x.numel() == 0) return like(x);
  Tensor result = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = wrap(dims[i], x), size = x.size(dim);
    int64_t start = ((size - shifts[i]) % size + size) % size;
    result = at::cat({result.narrow(dim, start, size - start), result.narrow(dim, 0, start)}, dim);
  }
  return result;
}

int64_t lower_triangle(int64_t rows, int64_t columns, int64_t offset) {
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) count += std::clamp<int64_t>(row + offset + 1, 0, columns);
  return count;
}

void add_selection(RuleTable& table) {
  table.add("index_select", [](const Tensor& x, int64_t dim, const Tensor& index) {
    TORCH_CHECK_INDEX(index.dim() <= 1, "index_select(): Index is supposed to be a vector");
    Sizes sizes = x.sizes().vec();
    int64_t wrapped = wrap(dim, x);
    if (x.dim() > 0) sizes[wrapped] = index.numel();
    return empty(sizes, x.scalar_type());
  });
  table.add("take",
            [](const Tensor& x, const Tensor& index) { return contiguous_like(index, x.scalar_type()); });
  table.add_out("take.out",
                [](const Tensor& x, const Tensor& index) { return pointwise({index}, x.scalar_type()); });
  table.add("narrow_copy", [](const Tensor& x, int64_t dim, int64_t, int64_t length) {
    TORCH_CHECK(x.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
    TORCH_CHECK(length >= 0, "narrow(): length must be non-negative.");
    Sizes sizes = x.sizes().vec();
    sizes[wrap(dim, x)] = length;
    return empty(sizes, x.scalar_type());
  });
  table.add("nonzero_static", [](const Tensor& x, int64_t size) { return empty({size, x.dim()}, kLong); });
  table.add("unfold_backward",
            [](const Tensor& grad, Sizes sizes) { return empty(sizes, grad.scalar_type()); });
}

void add_order(RuleTable& table) {
  table.add("flip", [](const Tensor& x, Sizes dims) {
    for (int64_t dim : dims) wrap(dim, x);
    return like(x);
  });
  table.add("roll", [](const Tensor& x, Sizes shifts, Sizes dims) { return rolled(x, shifts, dims); });
  table.add("tril_indices",
            [](int64_t rows, int64_t columns, int64_t offset, std::optional<at::ScalarType> dtype) {
              return empty({2, lower_triangle(rows, columns, offset)}, dtype.value_or(kLong));
            });
  table.add(
      "triu_indices", [](int64_t rows, int64_t columns, int64_t offset, std::optional<at::ScalarType> dtype) {
        return empty({2, rows * columns - lower_triangle(rows, columns, offset - 1)}, dtype.value_or(kLong));
      });
}

at::ScalarType position_type(bool int32) { return int32 ? at::ScalarType::Int : kLong; }

void add_search(RuleTable& table) {
  table.add("searchsorted.Tensor",
            [](Skip, const Tensor& x, bool int32) { return contiguous_like(x, position_type(int32)); });
  table.add("searchsorted.Scalar", [](Skip, Skip, bool int32) { return empty({}, position_type(int32)); });
  table.add("bucketize.Tensor",
            [](const Tensor& x, Skip, bool int32) { return contiguous_like(x, position_type(int32)); });
  table.add("bucketize.Scalar", [](Skip, Skip, bool int32) { return empty({}, position_type(int32)); });
}

void add_segments(RuleTable& table) {
  table.add("segment_reduce",
            [](const Tensor& data, Skip, const Tensor& lengths, Skip, const Tensor& offsets, int64_t axis) {
              TORCH_CHECK(lengths.defined() || offsets.defined(),
                          "segment_reduce(): Either lengths or offsets must be defined.");
              int64_t dim = wrap(axis, data);
              Sizes sizes = data.sizes().vec();
              sizes[dim] = lengths.defined() ? lengths.size(dim) : offsets.size(dim) - 1;
              return empty(sizes, data.scalar_type());
            });
  table.add("_segment_reduce_backward", [](Skip, Skip, const Tensor& data) { return contiguous_like(data); });
}

}  // namespace

void add_indexing_rules(RuleTable& table) {
  add_selection(table);
  add_order(table);
  add_search(table);
  add_segments(table);
}

}  // namespace antegrad::capture::rules
