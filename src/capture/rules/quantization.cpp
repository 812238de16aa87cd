// Fake quantization: quantization-aware training on float tensors.
#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {

void add_quantization_rules(RuleTable& table) {
  table.add({"fake_quantize_per_tensor_affine_cachemask",
             "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
             "fake_quantize_per_channel_affine_cachemask"},
            [](const Tensor& x) { return std::tuple(like(x), like(x, kBool)); });
  table.add({"_fake_quantize_learnable_per_tensor_affine", "_fake_quantize_learnable_per_channel_affine"},
            [](const Tensor& x) { return like(x); });
  table.add({"_fake_quantize_learnable_per_tensor_affine_backward",
             "_fake_quantize_learnable_per_channel_affine_backward"},
            [](Skip, const Tensor& x, const Tensor& scale, const Tensor& zero_point) {
              auto dtype = accumulate_type(x.scalar_type());
              return std::tuple(like(x, dtype), contiguous_like(scale, dtype),
                                contiguous_like(zero_point, dtype));
            });
  table.add("_fused_moving_avg_obs_fq_helper",
            [](const Tensor& x) { return std::tuple(like(x), like(x, kBool)); });
}

}  // namespace antegrad::capture::rules
