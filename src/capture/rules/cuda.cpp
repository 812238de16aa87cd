// Ops that only CUDA has a kernel for, or whose CUDA kernel gives other results than the one for the CPU.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

/// Returns a tensor of these sizes whose dims have the same order in memory as x's.
Tensor in_order_of(const Tensor& x, const Sizes& sizes) {
  if (x.sizes() == at::IntArrayRef(sizes)) return like(x);
  Sizes order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return x.stride(a) < x.stride(b); });
  Sizes strides(sizes.size());
  int64_t stride = 1;
  for (int64_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return empty_strided(sizes, strides, x.scalar_type());
}

constexpr auto kSeed = at::ScalarType::UInt64;

void add_attention(RuleTable& table) {
  table.add("_scaled_dot_product_flash_attention", [](const Tensor& query, const Tensor& key) {
    Tensor sums = empty({query.size(0), query.size(1), query.size(2)}, at::ScalarType::Float);
    return std::tuple(like(query.transpose(1, 2)).transpose(1, 2), sums, Tensor(), Tensor(), query.size(2),
                      key.size(2), empty({2}, kSeed), empty({}, kSeed), empty({0}, query.scalar_type()));
  });
  table.add("_scaled_dot_product_flash_attention_backward",
            [](Skip, const Tensor& query, const Tensor& key, const Tensor& value) {
              auto gradient = [](const Tensor& x) { return like(x.transpose(1, 2)).transpose(1, 2); };
              return std::tuple(gradient(query), gradient(key), gradient(value));
            });
  table.add("_scaled_dot_product_cudnn_attention",
            [](const Tensor& query, const Tensor& key, const Tensor& value, Skip, bool with_sums) {
              Sizes sizes = {query.size(0), query.size(1), query.size(2), value.size(3)};
              Tensor sums = empty({with_sums ? sizes[0] : 0, sizes[1], sizes[2], 1}, at::ScalarType::Float);
              return std::tuple(in_order_of(query, sizes),
                                with_sums ? sums : empty({0}, at::ScalarType::Float), Tensor(), Tensor(),
                                query.size(2), key.size(2), empty({}, kLong), empty({}, kLong), Tensor());
            });
  table.add("_scaled_dot_product_cudnn_attention_backward",
            [](Skip, const Tensor& query, const Tensor& key, const Tensor& value) {
              return std::tuple(like(query), like(key), like(value));
            });
}

void add_efficient_attention(RuleTable& table) {
  table.add("_scaled_dot_product_efficient_attention", [](const Tensor& query, Skip, const Tensor& value,
                                                          Skip, bool with_sums) {
    // Rows of sums are padded for the backward kernel's aligned loads.
    int64_t rows = with_sums ? (query.size(2) + 31) / 32 * 32 : 0;
    Tensor sums = empty({query.size(0), query.size(1), rows}, at::ScalarType::Float);
    return std::tuple(length_major_heads(query, value.size(3)), sums, empty({}, kLong), empty({}, kLong));
  });
  table.add("_scaled_dot_product_efficient_attention_backward",
            [](Skip, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias, Skip,
               Skip, Skip, Skip, Skip, std::array<bool, 4> mask) {
              Tensor bias_gradient;
              if (mask[3] && bias.defined()) {
                int64_t width = bias.size(-1);
                Sizes sizes = with_last(bias.sizes(), {(width + 15) / 16 * 16});
                bias_gradient = empty(sizes, bias.scalar_type()).narrow(-1, 0, width);
              }
              auto gradient = [](const Tensor& x) { return length_major_heads(x, x.size(3)); };
              return std::tuple(gradient(query), gradient(key), gradient(value), bias_gradient);
            });
}

void add_normalization(RuleTable& table) {
  // CUDA's batch_norm decomposes to this op. Half inputs have float statistics, and only cuDNN knows the size
  // of the reserve.
  table.add("cudnn_batch_norm", [](const Tensor& x, const Tensor& weight, Skip, Skip, Skip, bool training) {
    Sizes channels = {training ? weight.numel() : 0};
    return std::tuple(suggested_like(x), empty(channels, weight.scalar_type()),
                      empty(channels, weight.scalar_type()), empty({0}, at::ScalarType::Byte));
  });
  table.add("cudnn_batch_norm_backward", [](const Tensor& x, Skip, const Tensor& weight) {
    return std::tuple(suggested_like(x), like(weight), like(weight));
  });
  table.add("_fused_rms_norm_backward",
            [](Skip, const Tensor& x, Skip, Skip, const Tensor& weight, std::array<bool, 2> mask) {
              return std::tuple(mask[0] ? contiguous_like(x) : Tensor(),
                                mask[1] && weight.defined() ? like(weight) : Tensor());
            });
}

void add_recurrent_cells(RuleTable& table) {
  table.add("_thnn_fused_lstm_cell", [](const Tensor& gates, Skip, const Tensor& cell) {
    return std::tuple(contiguous_like(cell), contiguous_like(cell), contiguous_like(gates));
  });
  table.add("_thnn_fused_lstm_cell_backward_impl",
            [](Skip, Skip, const Tensor& cell, Skip, const Tensor& workspace, bool has_bias) {
              return std::tuple(contiguous_like(workspace), contiguous_like(cell),
                                has_bias ? empty({workspace.size(1)}, workspace.scalar_type()) : Tensor());
            });
  table.add("_thnn_fused_gru_cell", [](Skip, Skip, const Tensor& hidden) {
    return std::tuple(contiguous_like(hidden),
                      empty({hidden.size(0), hidden.size(1) * 5}, hidden.scalar_type()));
  });
  table.add("_thnn_fused_gru_cell_backward", [](const Tensor& grad, const Tensor& workspace, bool has_bias) {
    auto dtype = workspace.scalar_type();
    int64_t width = workspace.size(1) / 5 * 3;
    Tensor gates = empty({workspace.size(0), width}, dtype);
    auto bias = [&] { return has_bias ? empty({width}, dtype) : Tensor(); };
    return std::tuple(gates, contiguous_like(gates), contiguous_like(grad), bias(), bias());
  });
}

}  // namespace

void add_cuda_rules(RuleTable& table) {
  add_attention(table);
  add_efficient_attention(table);
  add_normalization(table);
  add_recurrent_cells(table);
}

void add_rules_of_cuda_kernels(RuleTable& table) {
  // The kernel leaves the buffer empty; generated code fills it.
  table.add("log_sigmoid_forward", [](const Tensor& x) { return std::tuple(like(x), like(x)); });
}

}  // namespace antegrad::capture::rules
