// Fourier transforms with the memory layout of the MKL kernels.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

/// MKL transforms a batch of contiguous signals; the result is a view of it with the dims in their original
/// order. In memory, batch dims keep the order of x's strides, and the transformed dims come last, in the
/// order of `dims`.
Tensor transformed(const Tensor& x, const Sizes& out_sizes, const Sizes& dims, at::ScalarType dtype) {
  Sizes order;
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) order.push_back(dim);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  order.insert(order.end(), dims.begin(), dims.end());
  Sizes strides(x.dim());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= out_sizes[order[i]];
  }
  return empty_strided(out_sizes, strides, dtype);
}

/// Sorts dims from the largest stride of x to the smallest; `keep_last` leaves the last one in its place.
Sizes sorted_by_stride(const Tensor& x, Sizes dims, bool keep_last) {
  auto end = dims.end() - (keep_last ? 1 : 0);
  std::stable_sort(dims.begin(), end, [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); });
  return dims;
}

Sizes wrapped(const Sizes& dims, const Tensor& x) {
  Sizes result;
  for (int64_t dim : dims) result.push_back(wrap(dim, x));
  return result;
}

Tensor complex_to_complex(const Tensor& x, Sizes dims) {
  TORCH_CHECK(at::isComplexType(x.scalar_type()), "expected a complex tensor, got ", x.scalar_type());
  if (dims.empty()) return like(x);
  return transformed(x, x.sizes().vec(), sorted_by_stride(x, wrapped(dims, x), false), x.scalar_type());
}

Tensor real_to_complex(const Tensor& x, const Sizes& dims, bool onesided) {
  TORCH_CHECK(at::isFloatingType(x.scalar_type()), "expected a float tensor, got ", x.scalar_type());
  Sizes order = wrapped(dims, x);
  Sizes sizes = x.sizes().vec();
  if (onesided) sizes[order.back()] = sizes[order.back()] / 2 + 1;
  return transformed(x, sizes, sorted_by_stride(x, order, true), at::toComplexType(x.scalar_type()));
}

Tensor complex_to_real(const Tensor& x, const Sizes& dims, int64_t last_size) {
  Sizes order = wrapped(dims, x);
  Tensor input = order.size() > 1 ? complex_to_complex(x, Sizes(order.begin(), order.end() - 1)) : x;
  Sizes sizes = x.sizes().vec();
  sizes[order.back()] = last_size;
  return transformed(input, sizes, {order.back()}, at::toRealValueType(x.scalar_type()));
}

}  // namespace

void add_fft_rules(RuleTable& table) {
  table.add("_fft_c2c", [](const Tensor& x, Sizes dims) { return complex_to_complex(x, dims); });
  table.add("_fft_r2c", [](const Tensor& x, Sizes dims, Skip, bool onesided) {
    return real_to_complex(x, dims, onesided);
  });
  table.add("_fft_c2r", [](const Tensor& x, Sizes dims, Skip, int64_t last_size) {
    return complex_to_real(x, dims, last_size);
  });
  // The out variants copy into a contiguous result.
  table.add_out("_fft_c2c.out",
                [](const Tensor& x, Sizes dims) { return contiguous_like(complex_to_complex(x, dims)); });
  table.add_out("_fft_r2c.out", [](const Tensor& x, Sizes dims, Skip, bool onesided) {
    return contiguous_like(real_to_complex(x, dims, onesided));
  });
  table.add_out("_fft_c2r.out", [](const Tensor& x, Sizes dims, Skip, int64_t last_size) {
    return contiguous_like(complex_to_real(x, dims, last_size));
  });
}

}  // namespace antegrad::capture::rules
