#pragma once
// How results of compiled functions are compared with eager's: bit for bit where LibTorch's kernels compute
// them (ANTEGRAD_BACKEND=eager), up to rounding where generated code does.
#include <ATen/ATen.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace antegrad::test {

inline bool runs_libtorch_kernels() {
  const char* backend = std::getenv("ANTEGRAD_BACKEND");
  return backend != nullptr && std::string_view(backend) == "eager";
}

/// What a few dozen roundings come to.
inline double rounding_of(at::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case at::kDouble:
      return 1e-9;
    case at::kFloat:
      return 2e-5;
    case at::kHalf:
      return 5e-3;
    case at::kBFloat16:
      return 4e-2;
    default:
      return 0;
  }
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto x = a.contiguous(), y = b.contiguous();
  return x.nbytes() == y.nbytes() &&
         (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0);
}

/// NaNs are equal to each other; numbers differ by no more than rounding, compared with the largest of them.
inline bool up_to_rounding(const at::Tensor& eager, const at::Tensor& compiled, double rounding) {
  if (same_bits(eager, compiled)) return true;
  const bool is_complex = at::isComplexType(eager.scalar_type());
  const auto wide = is_complex ? at::kComplexDouble : at::kDouble;
  const auto a = eager.to(wide), b = compiled.to(wide);
  const auto sizes = is_complex ? a.abs() : at::nan_to_num(a, 0, 0, 0).abs();
  const double scale = a.numel() == 0 ? 0 : at::nan_to_num(sizes, 0, 0, 0).max().item<double>();
  return at::allclose(a, b, rounding, rounding * scale, /*equal_nan=*/true);
}

inline bool up_to_rounding(const at::Tensor& eager, const at::Tensor& compiled) {
  return up_to_rounding(eager, compiled, rounding_of(eager.scalar_type()));
}

inline bool same_values(const at::Tensor& eager, const at::Tensor& compiled) {
  return runs_libtorch_kernels() ? same_bits(eager, compiled) : up_to_rounding(eager, compiled);
}

}  // namespace antegrad::test
