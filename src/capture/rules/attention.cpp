// Attention on the CPU; kernels that only CUDA has are in cuda.cpp.
#include <ATen/ATen.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  TORCH_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
              "scaled_dot_product_attention: Accept only 4 dims inputs shape of {(B), H, T, K}, got ",
              query.sizes(), ", ", key.sizes(), ", ", value.sizes());
}

}  // namespace

void add_attention_rules(RuleTable& table) {
  table.add("_scaled_dot_product_flash_attention_for_cpu", [](const Tensor& query, const Tensor& key,
                                                              const Tensor& value) {
    check_attention(query, key, value);
    Tensor sums = empty({query.size(0), query.size(2), query.size(1)}, accumulate_type(query.scalar_type()));
    return std::tuple(like(query), sums.transpose(1, 2));
  });
  table.add("_scaled_dot_product_flash_attention_for_cpu_backward",
            [](Skip, const Tensor& query, const Tensor& key, const Tensor& value) {
              return std::tuple(length_major_heads(query, query.size(3)),
                                length_major_heads(key, key.size(3)),
                                length_major_heads(value, value.size(3)));
            });
  table.add("_transform_bias_rescale_qkv", [](const Tensor& qkv, Skip, int64_t heads) {
    int64_t width = qkv.size(2) / 3;
    TORCH_CHECK(qkv.dim() == 3 && qkv.size(2) % 3 == 0 && width % heads == 0, "expected [batch, length, 3 * ",
                heads, " * width], got ", qkv.sizes());
    Sizes sizes = {3, qkv.size(0), heads, qkv.size(1), width / heads};
    Tensor all = empty(sizes, qkv.scalar_type());
    auto part = [&](int64_t i) { return all.select(0, i); };
    return std::tuple(part(0), part(1), part(2));
  });
}

}  // namespace antegrad::capture::rules
