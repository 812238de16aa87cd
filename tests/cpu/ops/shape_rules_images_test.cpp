// Shape rules of convolutions, pooling, indexing, linear algebra, transforms and attention against the CPU
// kernels.
#include "cpu/ops/shape_rules_fixture.h"

namespace antegrad::capture::check {
namespace {

Tensor grid(at::IntArrayRef sizes) { return at::rand(sizes) * 2 - 1; }
Tensor spd(at::IntArrayRef batch, int64_t n) {
  std::vector<int64_t> sizes = batch.vec();
  sizes.insert(sizes.end(), {n, n});
  Tensor a = at::rand(sizes);
  return a.matmul(a.mT()) + at::eye(n) * n;
}

TEST_F(ShapeRules, Convolution) {
  struct Case {
    Tensor x, weight;
    Ints stride, padding, dilation;
    bool transposed;
    Ints output_padding;
    int64_t groups;
  };
  std::vector<Case> cases = {
      {f({2, 4, 9, 8}), f({6, 4, 3, 3}), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1},
      {f({2, 4, 9, 8}), f({6, 2, 3, 2}), {2, 1}, {1, 0}, {1, 2}, false, {0, 0}, 2},
      {f({2, 4, 9, 8}), f({4, 1, 3, 3}), {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 4},
      {f({2, 4, 9, 8}), f({6, 4, 1, 1}), {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1},
      {f({2, 4, 9, 8}), f({4, 6, 3, 3}), {2, 2}, {1, 1}, {1, 1}, true, {1, 1}, 1},
      {f({2, 4, 9, 8}), f({4, 3, 3, 3}), {2, 2}, {1, 1}, {1, 1}, true, {0, 0}, 2},
      {f({2, 4, 9}), f({6, 4, 3}), {2}, {1}, {1}, false, {0}, 1},
      {f({2, 4, 9}), f({4, 6, 3}), {2}, {1}, {1}, true, {0}, 1},
      {f({2, 4, 5, 6, 7}), f({6, 4, 3, 3, 3}), {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, false, {0, 0, 0}, 1},
      {f({2, 4, 5, 6, 7}), f({6, 4, 2, 2, 2}), {2, 1, 1}, {0, 1, 1}, {2, 1, 1}, false, {0, 0, 0}, 1},
      {f({2, 4, 5, 6, 7}), f({4, 6, 3, 3, 3}), {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, true, {0, 0, 0}, 1},
  };
  for (const auto& c : cases) {
    call("convolution",
         {c.x, c.weight, kNone, c.stride, c.padding, c.dilation, c.transposed, c.output_padding, c.groups});
    Tensor out = at::convolution(c.x, c.weight, {}, c.stride, c.padding, c.dilation, c.transposed,
                                 c.output_padding, c.groups);
    for (auto m : {mask({1, 1, 1}), mask({1, 0, 0}), mask({0, 1, 0})}) {
      call("convolution_backward", {f(out.sizes()), c.x, c.weight, Ints{out.size(1)}, c.stride, c.padding,
                                    c.dilation, c.transposed, c.output_padding, c.groups, m});
    }
  }
}

TEST_F(ShapeRules, SlowConvolution) {
  Tensor x = f({2, 4, 9, 8}), w = f({6, 4, 3, 3}), b = f({6});
  Ints k = {3, 3}, one = {1, 1};
  call("_slow_conv2d_forward", {x, w, k, b, one, one});
  call("_slow_conv2d_backward.output_mask", {f({2, 6, 9, 8}), x, w, k, one, one, mask({1, 1, 1})});
  call("slow_conv_transpose2d", {x, f({4, 6, 3, 3}), k, b, Ints{2, 2}, one, one, one});
  call("slow_conv_dilated2d", {x, w, k, b, one, one, Ints{2, 2}});
  Tensor x3 = f({2, 4, 5, 6, 7}), w3 = f({6, 4, 3, 3, 3});
  Ints k3 = {3, 3, 3}, one3 = {1, 1, 1}, none3 = {0, 0, 0};
  call("slow_conv3d_forward", {x3, w3, k3, b, one3, one3});
  call("slow_conv_dilated3d", {x3, w3, k3, b, one3, one3, Ints{1, 1, 1}});
  call("slow_conv_transpose3d", {x3, f({4, 6, 3, 3, 3}), k3, b, one3, one3, none3, one3});
}

TEST_F(ShapeRules, Pooling) {
  Tensor x = f({2, 4, 9, 8}), x3 = f({2, 4, 5, 6, 7});
  for (Tensor each : {x, f({4, 9, 8})}) {
    call("_adaptive_avg_pool2d", {each, Ints{3, 2}});
    call("_adaptive_avg_pool2d_backward", {at::_adaptive_avg_pool2d(each, {3, 2}), each});
    call("reflection_pad2d", {each, Ints{1, 2, 3, 1}});
    call("reflection_pad2d_backward", {at::reflection_pad2d(each, {1, 2, 3, 1}), each, Ints{1, 2, 3, 1}});
    call("replication_pad2d_backward", {at::replication_pad2d(each, {1, 2, 3, 1}), each, Ints{1, 2, 3, 1}});
    call("im2col", {each, Ints{2, 3}, Ints{1, 2}, Ints{1, 0}, Ints{2, 1}});
    Tensor columns = at::im2col(each, {2, 3}, {1, 2}, {1, 0}, {2, 1});
    call("col2im", {columns, Ints{9, 8}, Ints{2, 3}, Ints{1, 2}, Ints{1, 0}, Ints{2, 1}});
    auto [pooled, indices] = at::max_pool2d_with_indices(each, 2, 2);
    call("max_unpool2d", {pooled, indices, Ints{9, 8}});
  }
  for (Tensor each : {x3, f({4, 5, 6, 7})}) {
    call("_adaptive_avg_pool3d", {each, Ints{3, 2, 2}});
    call("_adaptive_avg_pool3d_backward", {at::_adaptive_avg_pool3d(each, {3, 2, 2}), each});
    for (bool ceil_mode : {false, true}) {
      Ints kernel = {2, 3, 2}, stride = {2, 2, 3}, padding = {1, 1, 0}, dilation = {1, 1, 2};
      call("max_pool3d_with_indices", {each, kernel, stride, padding, dilation, ceil_mode});
      auto [out, index] = at::max_pool3d_with_indices(each, kernel, stride, padding, dilation, ceil_mode);
      call("max_pool3d_with_indices_backward",
           {out, each, kernel, stride, padding, dilation, ceil_mode, index});
    }
    call("replication_pad3d_backward",
         {at::replication_pad3d(each, {1, 2, 3, 1, 0, 1}), each, Ints{1, 2, 3, 1, 0, 1}});
    auto [pooled, indices] = at::max_pool3d_with_indices(each, 2, 2);
    call("max_unpool3d", {pooled, indices, Ints{5, 6, 7}, Ints{2, 2, 2}, Ints{0, 0, 0}});
    std::vector<int64_t> samples = {each.dim() == 5 ? 2 : 1, 4, 3};
    auto [fractional, places] = at::fractional_max_pool3d(each, {2, 2, 2}, {2, 3, 3}, f(samples));
    call("fractional_max_pool3d_backward", {fractional, each, Ints{2, 2, 2}, Ints{2, 3, 3}, places});
  }
  call("channel_shuffle", {x, 2});
}

TEST_F(ShapeRules, GridSampling) {
  Tensor x = f({2, 4, 9, 8}), x3 = f({2, 4, 5, 6, 7});
  for (int64_t mode : {0, 1}) {
    call("grid_sampler_2d", {x, grid({2, 3, 5, 2}), mode, 0, false});
    call("grid_sampler_3d", {x3, grid({2, 3, 5, 2, 3}), mode, 0, false});
    for (auto m : {mask({1, 1}), mask({0, 1})}) {
      call("grid_sampler_2d_backward", {f({2, 4, 3, 5}), x, grid({2, 3, 5, 2}), mode, 0, false, m});
      call("grid_sampler_3d_backward", {f({2, 4, 3, 5, 2}), x3, grid({2, 3, 5, 2, 3}), mode, 0, false, m});
    }
  }
}

TEST_F(ShapeRules, Indexing) {
  Tensor x = f({2, 4, 9, 8});
  call("index_select", {x, 1, ints({3}, 4)});
  call("index_select", {f({}), 0, ints({1}, 1)});
  call("take", {x, ints({3, 5}, 60)});
  call("narrow_copy", {x, 2, 3, 4});
  call("nonzero_static", {bools({3, 4, 2}), 5});
  call("unfold_backward", {f({2, 4, 4, 8, 3}), Ints{2, 4, 9, 8}, 2, 3, 2});
  call("flip", {x, Ints{1, -1}});
  call("roll", {x, Ints{3}, Ints{2}});
  call("roll", {x, Ints{-1, 2}, Ints{1, 3}});
  call("roll", {x, Ints{5}, Ints{}});
  call("roll", {x, Ints{0}, Ints{1}});
  call("roll", {f({2, 0}), Ints{1}, Ints{1}});
  for (int64_t offset : {-5, -1, 0, 2, 9}) {
    call("tril_indices", {4, 6, offset});
    call("triu_indices", {4, 6, offset});
  }
  Tensor edges = at::linspace(0, 1, 6);
  for (bool int32 : {false, true}) {
    call("searchsorted.Tensor", {edges, x, int32});
    call("searchsorted.Scalar", {edges, 0.5, int32});
    call("bucketize.Tensor", {x, edges, int32});
    call("bucketize.Scalar", {0.5, edges, int32});
  }
  call("segment_reduce", {f({6, 3}), "sum", at::tensor({2, 1, 3})});
  call("segment_reduce", {f({6, 3}), "max", kNone, kNone, at::tensor({0, 2, 3, 6})});
  call("_segment_reduce_backward", {f({3, 3}), f({3, 3}), f({6, 3}), "sum", at::tensor({2, 1, 3})});
}

TEST_F(ShapeRules, Embedding) {
  call("embedding_dense_backward", {f({3, 2, 5}), ints({3, 2}, 7), 7, -1, false});
  Tensor weight = f({10, 4}), indices = ints({7}, 10), offsets = at::tensor({0, 3, 3, 5});
  for (int64_t mode : {0, 1, 2}) {
    for (bool last : {false, true}) {
      for (int64_t padding : {-1, 2}) {
        Tensor starts = last ? at::tensor({0, 3, 3, 5, 7}) : offsets;
        Stack args = {weight, indices, starts, false, mode, false, kNone, last, padding};
        call("_embedding_bag", args);
        call("_embedding_bag_forward_only", args);
        if (mode == 0) {
          args[6] = f({7});
          call("_embedding_bag", args);
        }
      }
    }
    auto [out, bag_of, counts, largest] =
        at::_embedding_bag(weight, indices, offsets, false, mode, false, {}, false, 2);
    call("_embedding_bag_dense_backward",
         {f(out.sizes()), indices, bag_of, counts, largest, 10, false, mode, kNone});
    call("_embedding_bag_backward",
         {f(out.sizes()), indices, offsets, bag_of, counts, largest, 10, false, mode, false, kNone});
    if (mode == 0) {
      call("_embedding_bag_per_sample_weights_backward",
           {f(out.sizes()), weight, indices, offsets, bag_of, mode});
    }
  }
}

TEST_F(ShapeRules, LinearAlgebra) {
  for (Tensor a : {spd({}, 4), spd({3}, 4), spd({2, 3}, 4)}) {
    std::vector<int64_t> batch = a.sizes().slice(0, a.dim() - 2).vec();
    auto matrix = [&](int64_t rows, int64_t columns) {
      auto sizes = batch;
      sizes.insert(sizes.end(), {rows, columns});
      return f(sizes);
    };
    call("cholesky", {a});
    call("cholesky_inverse", {a.cholesky()});
    call("_cholesky_solve_helper", {matrix(4, 2), a.cholesky(), false});
    call("geqrf", {matrix(5, 3)});
    auto [q, tau] = at::geqrf(matrix(5, 3));
    call("linalg_householder_product", {q, tau});
    call("ormqr", {q, tau, matrix(5, 2)});
    call("linalg_eig", {a});
    call("_linalg_eigvals", {a});
    call("linalg_matrix_exp", {a});
    for (bool left : {true, false}) {
      call("linalg_solve_triangular", {a.triu(), left ? matrix(4, 2) : matrix(2, 4), true, left});
      call("linalg_solve_triangular", {spd({}, 4).triu(), left ? matrix(4, 2) : matrix(2, 4), true, left});
    }
  }
  call("_compute_linear_combination", {f({3, 4, 4}), f({2, 3})});
  call("addbmm", {f({3, 5}), f({2, 3, 4}), f({2, 4, 5})});
  call("addbmm", {f({5}), f({2, 3, 4}), f({2, 4, 5})});
  call("_int_mm", {ints({20, 8}, 5).to(at::kChar), ints({8, 16}, 5).to(at::kChar)});
  for (double p : {1.0, 2.0}) {
    call("_cdist_forward", {f({2, 3, 4}), f({5, 4}), p, kNone});
    call("_cdist_forward", {f({30, 4}), f({40, 4}), p, 1});
    call("_pdist_forward", {f({5, 4}), p});
    call("_pdist_backward", {f({10}), f({5, 4}), p, at::pdist(f({5, 4}), p)});
    call("_cdist_backward", {f({2, 3, 5}), f({2, 3, 4}), f({2, 5, 4}), p, f({2, 3, 5})});
  }
}

TEST_F(ShapeRules, Fourier) {
  for (const Ints& dims : {Ints{3}, Ints{1}, Ints{0, 2}, Ints{3, 1}, Ints{0, 1, 2, 3}}) {
    Tensor x = cplx({2, 4, 9, 8});
    call("_fft_c2c", {cplx({2, 4, 9, 8}), dims, 0, true});
    call("_fft_c2r", {cplx({2, 4, 9, 8}), dims, 0, 2 * (x.size(dims.back()) - 1)});
    call("_fft_r2c", {f({2, 4, 9, 8}), dims, 0, true});
    call("_fft_r2c", {f({2, 4, 9, 8}), dims, 0, false});
  }
}

TEST_F(ShapeRules, Attention) {
  Tensor q = f({2, 3, 40, 16}), k = f({2, 3, 24, 16}), v = f({2, 3, 24, 16});
  call("_scaled_dot_product_flash_attention_for_cpu", {q, k, v});
  call("_scaled_dot_product_flash_attention_for_cpu", {q, k, v, 0.0, false, f({2, 3, 40, 24})});
  auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v);
  call("_scaled_dot_product_flash_attention_for_cpu_backward",
       {f(out.sizes()), q, k, v, out, sums, 0.0, false});
  call("_transform_bias_rescale_qkv", {f({2, 5, 48}), f({48}), 4});
}

TEST_F(ShapeRules, FakeQuantization) {
  Tensor x = f({2, 3, 4, 5}), one = at::ones({1}), zero = at::zeros({1}), on = at::ones({1}, at::kLong);
  call("fake_quantize_per_tensor_affine_cachemask", {x, 0.1, 0, 0, 255});
  call("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", {x, one, zero.to(at::kInt), on, 0, 255});
  call("fake_quantize_per_channel_affine_cachemask", {x, at::ones({3}), at::zeros({3}, at::kInt), 1, 0, 255});
  call("_fake_quantize_learnable_per_tensor_affine", {x, one, zero, 0, 255});
  call("_fake_quantize_learnable_per_channel_affine", {x, at::ones({3}), at::zeros({3}), 1, 0, 255});
  call("_fake_quantize_learnable_per_tensor_affine_backward", {x, x, one, zero, 0, 255});
  call("_fake_quantize_learnable_per_channel_affine_backward",
       {x, x, at::ones({3}), at::zeros({3}), 1, 0, 255});
}

TEST_F(ShapeRules, NothingReturned) {
  Tensor p = f({3}), step = at::ones({});
  std::vector<Tensor> ps = {p}, steps = {step}, none;
  call("_fused_adam_", {ps, ps, ps, ps, none, steps, 0.1, 0.9, 0.99, 0.0, 1e-8, false, false});
  call("_fused_sgd_", {ps, ps, ps, 0.0, 0.9, 0.1, 0.0, false, false, true});
  call("_fused_adagrad_", {ps, ps, ps, steps, 0.1, 0.0, 0.0, 1e-8, false});
  call("_amp_foreach_non_finite_check_and_unscale_", {ps, at::zeros({1}), at::ones({1})});
  call("_assert_async", {at::ones({}, at::kBool)});
}

}  // namespace
}  // namespace antegrad::capture::check
