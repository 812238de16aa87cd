// Samplers: most of their kernels fill new contiguous tensors.
#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {

void add_random_rules(RuleTable& table) {
  table.add({"poisson", "binomial", "_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet",
             "_dirichlet_grad"},
            [](const Tensor& x) { return contiguous_like(x); });
  table.add("bernoulli", [](const Tensor& x) { return contiguous_like(x); });
  table.add("native_dropout", [](const Tensor& x, double, std::optional<bool> train) {
    if (x.numel() == 0) return std::tuple(x, like(x));
    Tensor mask = like(x, kBool);
    return std::tuple(train.value_or(true) ? pointwise({x, mask}, x.scalar_type()) : like(x), mask);
  });
  table.add("native_dropout_backward", [](const Tensor& grad, const Tensor& mask) {
    return pointwise({grad, mask}, float_type(grad.scalar_type()));
  });
  table.add("multinomial", [](const Tensor& x, int64_t count) {
    TORCH_CHECK(x.dim() == 1 || x.dim() == 2, "prob_dist must be 1 or 2 dim");
    return x.dim() == 1 ? empty({count}, kLong) : empty({x.size(0), count}, kLong);
  });
  table.add("randperm", [](int64_t n, std::optional<at::ScalarType> dtype) {
    TORCH_CHECK(n >= 0, "n must be non-negative, got ", n);
    return empty({n}, dtype.value_or(kLong));
  });
  table.add("randperm.generator", [](int64_t n, Skip, std::optional<at::ScalarType> dtype) {
    TORCH_CHECK(n >= 0, "n must be non-negative, got ", n);
    return empty({n}, dtype.value_or(kLong));
  });
  table.add_out("randperm.generator_out", [](int64_t n) { return empty({n}, kLong); });
  table.add_out("randperm.out", [](int64_t n) { return empty({n}, kLong); });
}

}  // namespace antegrad::capture::rules
