// Pooling over whole images, and nearest-neighbour upsampling by integer factors.
#include <algorithm>

#include "passes/decompositions/decompositions.h"

namespace antegrad::passes {
namespace {

/// The last two dimensions.
Dims image_dims(Builder& b, Value x) {
  const auto rank = static_cast<int64_t>(b.rank(x));
  if (rank < 3) throw NotHandled();
  return {rank - 2, rank - 1};
}

bool are_ones(const std::vector<ir::Dim>& sizes) {
  return !sizes.empty() && std::ranges::all_of(sizes, [](const ir::Dim& size) { return size.is(1); });
}

std::vector<ir::Dim> image_sizes(Builder& b, Value x) {
  return {b.sizes(x)[b.rank(x) - 2], b.sizes(x)[b.rank(x) - 1]};
}

void define_image_mean(Builder& b, const Call& call) {
  const auto x = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  b.define(call.output(0), b.mean(x, image_dims(b, x), true));
}

void define_image_mean_backward(Builder& b, const Call& call) {
  const auto grad = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  const auto image = call.tensor(1);
  const auto share = b.div(grad, b.count(image, image_dims(b, image)));
  b.define(call.output(0), b.expand(share, b.sizes(image)));
}

void adaptive_avg_pool2d(Builder& b, const Call& call) {
  if (!are_ones(call.dims(1))) throw NotHandled();
  define_image_mean(b, call);
}

void adaptive_avg_pool2d_backward(Builder& b, const Call& call) {
  image_dims(b, call.tensor(0));
  if (!are_ones(image_sizes(b, call.tensor(0)))) throw NotHandled();
  define_image_mean_backward(b, call);
}

/// Throws NotHandled unless a single window covers the image. The window is argument `kernel`, followed by
/// stride, padding, ceil_mode, count_include_pad and divisor.
void require_one_window(Builder& b, const Call& call, Value image, Value pooled, size_t kernel) {
  image_dims(b, image);
  auto window = call.dims(kernel);
  if (window.size() == 1) window.push_back(window[0]);
  const bool no_padding =
      std::ranges::all_of(call.dims(kernel + 2), [](const ir::Dim& size) { return size.is(0); });
  if (window != image_sizes(b, image) || !no_padding || !(call.arg(kernel + 5) == ir::Arg()) ||
      !are_ones(image_sizes(b, pooled)))
    throw NotHandled();
}

void avg_pool2d(Builder& b, const Call& call) {
  require_one_window(b, call, call.tensor(0), call.output(0), 1);
  define_image_mean(b, call);
}

void avg_pool2d_backward(Builder& b, const Call& call) {
  require_one_window(b, call, call.tensor(1), call.tensor(0), 2);
  define_image_mean_backward(b, call);
}

/// Returns the integer factor from `small` to `large` for each image dimension. Scales that were given must
/// agree.
std::vector<int64_t> whole_factors(Builder& b, const Call& call, const Sizes& small, const Sizes& large,
                                   size_t scales_at) {
  std::vector<int64_t> factors;
  for (size_t i = 2; i < small.size(); ++i) {
    factors.push_back(b.likely(large[i]) / std::max<int64_t>(b.likely(small[i]), 1));
    if (!(small[i] * factors.back() == large[i])) throw NotHandled();
    const auto& scale = call.arg(scales_at + i - 2);
    if (!(scale == ir::Arg()) && !(scale == ir::Arg(static_cast<double>(factors.back())))) throw NotHandled();
  }
  return factors;
}

/// Each pixel reads its source pixel in the small image.
void upsample_nearest(Builder& b, const Call& call) {
  const auto x = call.tensor(0);
  const auto& large = call.output_type(0);
  const auto factors = whole_factors(b, call, b.sizes(x), large.sizes, 2);
  ir::Arg::List indices = {ir::Arg(), ir::Arg()};
  for (size_t i = 0; i < factors.size(); ++i) {
    const auto pixels = b.arange(large.sizes[i + 2], large.device);
    const auto source = b.pointwise("aten.floor_divide.Scalar", {pixels, factors[i]});
    indices.push_back(b.along(source, static_cast<int64_t>(i), factors.size()));
  }
  auto type = large;
  b.define(call.output(0), b.emit("aten.index.Tensor", {x, std::move(indices)}, std::move(type)));
}

/// Each pixel of the small image sums the gradients of the pixels that read it.
void upsample_nearest_backward(Builder& b, const Call& call) {
  auto grad = b.to(call.tensor(0), wide(call.output_type(0).dtype));
  const auto small = call.output_type(0).sizes;
  const auto factors = whole_factors(b, call, small, b.sizes(grad), 3);
  Dims summed;
  for (size_t i = 0; i < factors.size(); ++i) {
    const auto dim = static_cast<int64_t>(2 + 2 * i);
    grad = b.split_dim(grad, dim, small[i + 2], factors[i]);
    summed.push_back(dim + 1);
  }
  b.define(call.output(0), b.sum(grad, summed));
}

constexpr DecompositionRow kResamplingRows[] = {
    {"aten.avg_pool2d", avg_pool2d},
    {"aten.avg_pool2d_backward", avg_pool2d_backward},
    {"aten._adaptive_avg_pool2d", adaptive_avg_pool2d},
    {"aten._adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward},
    {"aten.upsample_nearest1d", upsample_nearest},
    {"aten.upsample_nearest2d", upsample_nearest},
    {"aten.upsample_nearest1d_backward", upsample_nearest_backward},
    {"aten.upsample_nearest2d_backward", upsample_nearest_backward},
};

}  // namespace

std::span<const DecompositionRow> resampling_decompositions() { return kResamplingRows; }

}  // namespace antegrad::passes
