// Pooling, padding, sampling and patches of images.
#include <ATen/ATen.h>

#include <array>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

/// Replaces the image dims of x. Batched images keep the suggested memory format; single images are
/// contiguous.
Tensor resized(const Tensor& x, const Sizes& image, at::ScalarType dtype) {
  bool batched = x.dim() == static_cast<int64_t>(image.size()) + 2;
  TORCH_CHECK(batched || x.dim() == static_cast<int64_t>(image.size()) + 1, "expected ", image.size() + 1,
              "D or ", image.size() + 2, "D input, got sizes ", x.sizes());
  for (int64_t size : image) TORCH_CHECK(size >= 0, "negative output size ", at::IntArrayRef(image));
  return empty(with_last(x.sizes(), image), dtype,
               batched ? x.suggest_memory_format() : at::MemoryFormat::Contiguous);
}

int64_t pooled(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
               bool ceil_mode) {
  TORCH_CHECK(stride > 0, "stride should not be zero");
  int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  int64_t count = (span < 0 ? (span - stride + 1) / stride : span / stride) + 1;
  // The last window must start inside the image or its left padding.
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  TORCH_CHECK(count >= 1, "Output size is too small: input size ", size, ", kernel size ", kernel);
  return count;
}

void add_pools(RuleTable& table) {
  table.add("max_pool3d_with_indices", [](const Tensor& x, Sizes kernel, Sizes stride, Sizes padding,
                                          Sizes dilation, bool ceil_mode) {
    kernel = filled(kernel, 3);
    stride = stride.empty() ? kernel : filled(stride, 3);
    padding = filled(padding, 3);
    dilation = filled(dilation, 3);
    Sizes image;
    for (int64_t i = 0; i < 3; ++i) {
      image.push_back(pooled(x.size(i - 3), kernel[i], stride[i], padding[i], dilation[i], ceil_mode));
    }
    return std::tuple(resized(x, image, x.scalar_type()), resized(x, image, kLong));
  });
  table.add("max_pool3d_with_indices_backward", [](Skip, const Tensor& x) { return suggested_like(x); });
  table.add("fractional_max_pool3d_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
  table.add("_adaptive_avg_pool2d",
            [](const Tensor& x, Sizes size) { return resized(x, filled(size, 2), x.scalar_type()); });
  table.add("_adaptive_avg_pool3d", [](const Tensor& x, Sizes size) {
    return contiguous_like(resized(x, filled(size, 3), x.scalar_type()));
  });
  table.add_out("adaptive_avg_pool2d.out",
                [](const Tensor& x, Sizes size) { return resized(x, filled(size, 2), x.scalar_type()); });
  table.add_out("adaptive_avg_pool3d.out", [](const Tensor& x, Sizes size) {
    return contiguous_like(resized(x, filled(size, 3), x.scalar_type()));
  });
  table.add("_adaptive_avg_pool2d_backward", [](Skip, const Tensor& x) { return suggested_like(x); });
  table.add("_adaptive_avg_pool3d_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
  table.add_out("adaptive_avg_pool3d_backward.grad_input",
                [](Skip, const Tensor& x) { return contiguous_like(x); });
  table.add("max_unpool2d",
            [](const Tensor& x, Skip, Sizes size) { return resized(x, filled(size, 2), x.scalar_type()); });
  table.add("max_unpool3d", [](const Tensor& x, Skip, Sizes size) {
    return empty(with_last(x.sizes(), filled(size, 3)), x.scalar_type());
  });
}

void add_padding(RuleTable& table) {
  table.add("reflection_pad2d", [](const Tensor& x, Sizes pad) {
    TORCH_CHECK(pad.size() == 4, "padding size is expected to be 4");
    int64_t width = x.size(-1), height = x.size(-2);
    TORCH_CHECK(pad[0] < width && pad[1] < width && pad[2] < height && pad[3] < height,
                "Padding size should be less than the corresponding input dimension, but got padding ",
                at::IntArrayRef(pad), " for input ", x.sizes());
    return resized(x, {height + pad[2] + pad[3], width + pad[0] + pad[1]}, x.scalar_type());
  });
  table.add({"reflection_pad2d_backward", "replication_pad2d_backward", "replication_pad3d_backward"},
            [](Skip, const Tensor& x) { return suggested_like(x); });
}

void add_sampling(RuleTable& table) {
  table.add("grid_sampler_2d", [](const Tensor& x, const Tensor& grid) {
    return empty({x.size(0), x.size(1), grid.size(1), grid.size(2)}, x.scalar_type());
  });
  table.add("grid_sampler_3d", [](const Tensor& x, const Tensor& grid) {
    return empty({x.size(0), x.size(1), grid.size(1), grid.size(2), grid.size(3)}, x.scalar_type());
  });
  table.add({"grid_sampler_2d_backward", "grid_sampler_3d_backward"},
            [](Skip, const Tensor& x, const Tensor& grid, Skip, Skip, Skip, std::array<bool, 2> mask) {
              return std::tuple(mask[0] ? contiguous_like(x) : Tensor(), contiguous_like(grid));
            });
  table.add("channel_shuffle", [](const Tensor& x, int64_t groups) {
    TORCH_CHECK(x.dim() > 2 && groups > 0 && x.size(1) % groups == 0,
                "Number of channels must be divisible by groups. Got ", x.sizes(), " and ", groups,
                " groups.");
    return suggested_like(x);
  });
}

/// Returns the number of positions of a sliding window along one dim.
int64_t windows(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
  return (size + 2 * padding - (dilation * (kernel - 1) + 1)) / stride + 1;
}

void add_patches(RuleTable& table) {
  table.add("im2col", [](const Tensor& x, Sizes kernel, Sizes dilation, Sizes padding, Sizes stride) {
    int64_t positions = 1;
    for (int64_t i = 0; i < 2; ++i) {
      int64_t count = windows(x.size(i - 2), kernel[i], dilation[i], padding[i], stride[i]);
      TORCH_CHECK(count >= 1, "im2col: the sliding window does not fit, input ", x.sizes(), ", kernel ",
                  at::IntArrayRef(kernel));
      positions *= count;
    }
    int64_t rows = x.size(-3) * kernel[0] * kernel[1];
    return x.dim() == 3 ? empty({rows, positions}, x.scalar_type())
                        : empty({x.size(0), rows, positions}, x.scalar_type());
  });
  table.add("col2im", [](const Tensor& x, Sizes size, Sizes kernel) {
    int64_t area = kernel[0] * kernel[1];
    TORCH_CHECK(x.size(-2) % area == 0, "col2im: ", x.size(-2),
                " rows are not divisible by the kernel's area ", area);
    int64_t planes = x.size(-2) / area;
    return x.dim() == 2 ? empty({planes, size[0], size[1]}, x.scalar_type())
                        : empty({x.size(0), planes, size[0], size[1]}, x.scalar_type());
  });
}

}  // namespace

void add_pooling_rules(RuleTable& table) {
  add_pools(table);
  add_padding(table);
  add_sampling(table);
  add_patches(table);
}

}  // namespace antegrad::capture::rules
