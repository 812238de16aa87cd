#include "capture/rules/shapes.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>

namespace antegrad::capture::rules {

Tensor empty(at::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format) {
  return at::detail::empty_meta(sizes, dtype, format);
}

Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype) {
  return at::detail::empty_strided_meta(sizes, strides, dtype);
}

Tensor like(const Tensor& x, std::optional<at::ScalarType> dtype) {
  auto type = dtype.value_or(x.scalar_type());
  if (x.is_non_overlapping_and_dense()) return empty_strided(x.sizes(), x.strides(), type);
  return empty_strided(x.sizes(), at::infer_dense_strides(x.sizes(), x.strides()), type);
}

Tensor contiguous_like(const Tensor& x, std::optional<at::ScalarType> dtype) {
  return empty(x.sizes(), dtype.value_or(x.scalar_type()));
}

Tensor suggested_like(const Tensor& x, std::optional<at::ScalarType> dtype) {
  return empty(x.sizes(), dtype.value_or(x.scalar_type()), x.suggest_memory_format());
}

Tensor column_major(at::IntArrayRef sizes, at::ScalarType dtype) {
  Sizes transposed = sizes.vec();
  if (transposed.size() < 2) return empty(sizes, dtype);
  std::swap(transposed[transposed.size() - 1], transposed[transposed.size() - 2]);
  Tensor result = empty(transposed, dtype);
  Sizes strides = result.strides().vec();
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return empty_strided(sizes, strides, dtype);
}

Tensor length_major_heads(const Tensor& x, int64_t width) {
  return empty({x.size(0), x.size(2), x.size(1), width}, x.scalar_type()).transpose(1, 2);
}

Tensor pointwise(const std::vector<Tensor>& inputs, at::ScalarType dtype) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).check_all_same_device(false);
  config.declare_static_dtype_and_device(dtype, at::Device(at::kMeta));
  config.add_owned_output(Tensor());
  for (const auto& input : inputs) config.add_owned_const_input(input);
  return config.build().output();
}

at::ScalarType float_type(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? at::typeMetaToScalarType(at::get_default_dtype())
                                                         : dtype;
}

at::ScalarType sum_type(const Tensor& x, std::optional<at::ScalarType> dtype) {
  if (dtype) return *dtype;
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/true) ? kLong : x.scalar_type();
}

at::ScalarType accumulate_type(at::ScalarType dtype) {
  return at::isReducedFloatingType(dtype) ? at::ScalarType::Float : dtype;
}

int64_t wrap(int64_t dim, const Tensor& x) { return at::maybe_wrap_dim(dim, x.dim()); }

Sizes reduced(const Tensor& x, const std::optional<Sizes>& dims, bool keepdim) {
  std::vector<bool> gone(x.dim(), !dims || dims->empty());
  if (dims) {
    for (int64_t dim : *dims) {
      int64_t wrapped = wrap(dim, x);
      if (x.dim() > 0) gone[wrapped] = true;
    }
  }
  Sizes sizes;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (!gone[i]) sizes.push_back(x.size(i));
    if (gone[i] && keepdim) sizes.push_back(1);
  }
  return sizes;
}

Sizes reduced(const Tensor& x, int64_t dim, bool keepdim) { return reduced(x, Sizes{dim}, keepdim); }

Sizes with_last(at::IntArrayRef sizes, const Sizes& last) {
  TORCH_CHECK(sizes.size() >= last.size(), "expected at least ", last.size(), " dimensions, got sizes ",
              sizes);
  Sizes result = sizes.vec();
  std::copy(last.begin(), last.end(), result.end() - static_cast<int64_t>(last.size()));
  return result;
}

Sizes filled(const Sizes& values, size_t count) {
  return values.size() == 1 ? Sizes(count, values.front()) : values;
}

}  // namespace antegrad::capture::rules
