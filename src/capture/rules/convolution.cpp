#include <ATen/ATen.h>
#include <ATen/native/ConvUtils.h>
#include <c10/core/Allocator.h>

#include <array>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

using at::native::ConvBackend;
using Mask3 = std::array<bool, 3>;

struct Convolution {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

/// Returns the result's sizes [batch, channels, image …] for a weight [out, in / groups, kernel …], or for
/// [in, out / groups, kernel …] where transposed.
Sizes output_sizes(const Tensor& x, const Tensor& weight, const Convolution& conv) {
  int64_t spatial = weight.dim() - 2;
  TORCH_CHECK(x.dim() == weight.dim(), "Expected ", weight.dim(), "D input to a convolution with weight ",
              weight.sizes(), ", got ", x.sizes());
  int64_t channels = conv.transposed ? weight.size(0) : weight.size(1) * conv.groups;
  TORCH_CHECK(x.size(1) == channels, "Given groups=", conv.groups, ", weight of size ", weight.sizes(),
              ", expected input", x.sizes(), " to have ", channels, " channels, but got ", x.size(1),
              " channels instead");
  auto at = [](const Sizes& values, int64_t i) { return values.size() == 1 ? values[0] : values[i]; };
  Sizes sizes = {x.size(0), conv.transposed ? weight.size(1) * conv.groups : weight.size(0)};
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t span = at(conv.dilation, i) * (weight.size(i + 2) - 1);
    int64_t size = x.size(i + 2);
    if (conv.transposed) {
      int64_t extra = conv.output_padding.empty() ? 0 : at(conv.output_padding, i);
      sizes.push_back((size - 1) * at(conv.stride, i) - 2 * at(conv.padding, i) + span + extra + 1);
    } else {
      int64_t padded = size + 2 * at(conv.padding, i);
      TORCH_CHECK(padded > span, "Calculated padded input size per channel: ", padded,
                  ". Kernel size: ", span + 1, ". Kernel size can't be greater than actual input size");
      sizes.push_back((padded - span - 1) / at(conv.stride, i) + 1);
    }
    TORCH_CHECK(sizes.back() >= 0, "a convolution of ", x.sizes(), " by ", weight.sizes(), " has no output");
  }
  return sizes;
}

/// Returns a tensor that looks like a CPU tensor and has no memory: LibTorch chooses a convolution's kernel,
/// and with it the memory format, by the device.
Tensor cpu_shell(const Tensor& x) {
  c10::Storage nothing(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, at::Device(at::kCPU)),
                       c10::GetAllocator(at::kMeta), /*resizable=*/true);
  auto shell = at::detail::make_tensor<c10::TensorImpl>(
      std::move(nothing), c10::DispatchKeySet(c10::DispatchKey::CPU), x.dtype());
  shell.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), x.strides());
  return shell;
}

/// Makes a one-dimensional convolution two-dimensional, of height 1 over a contiguous input, as LibTorch runs
/// it.
void lift_to_image(Tensor& x, Tensor& weight, Convolution& conv) {
  x = contiguous_like(x).unsqueeze(2);
  weight = weight.unsqueeze(2);
  for (auto* ones : {&conv.stride, &conv.dilation}) ones->insert(ones->begin(), 1);
  for (auto* zeros : {&conv.padding, &conv.output_padding}) zeros->insert(zeros->begin(), 0);
}

struct Kernel {
  ConvBackend backend;
  at::MemoryFormat format;
};

Kernel given_kernel(const Tensor& x, const Tensor& weight, ConvBackend backend) {
  return {backend, at::native::_determine_backend_memory_format(cpu_shell(x), cpu_shell(weight), backend)};
}

Kernel chosen_kernel(Tensor x, Tensor weight, Convolution conv) {
  if (weight.dim() == 3) lift_to_image(x, weight, conv);
  size_t spatial = weight.dim() - 2;
  auto all = [&](const Sizes& values, int64_t rest) {
    Sizes full = values.empty() ? Sizes(spatial, rest) : filled(values, spatial);
    return std::vector<c10::SymInt>(full.begin(), full.end());
  };
  auto backend = at::native::select_conv_backend(
      cpu_shell(x), cpu_shell(weight), {}, all(conv.stride, 1), all(conv.padding, 0), all(conv.dilation, 1),
      conv.transposed, all(conv.output_padding, 0), conv.groups, at::OptionalSymIntArrayRef());
  return given_kernel(x, weight, backend);
}

Tensor in_format(const Sizes& sizes, at::ScalarType dtype, at::MemoryFormat format) {
  if (sizes.size() != 3) return empty(sizes, dtype, format);
  return empty({sizes[0], sizes[1], 1, sizes[2]}, dtype, format).squeeze(2);
}

/// Returns the result in the format of the kernel that LibTorch would choose, or of the given one.
Tensor convolution(Tensor x, const Tensor& weight, const Convolution& conv,
                   std::optional<ConvBackend> backend = {}) {
  bool batched = x.dim() == weight.dim();
  if (!batched) x = x.unsqueeze(0);
  Sizes sizes = output_sizes(x, weight, conv);
  auto kernel = backend ? given_kernel(x, weight, *backend) : chosen_kernel(x, weight, conv);
  Tensor result = in_format(sizes, x.scalar_type(), kernel.format);
  return batched ? result : result.squeeze(0);
}

std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                                            Mask3 mask, Kernel kernel) {
  bool onednn = kernel.backend == ConvBackend::Mkldnn || kernel.backend == ConvBackend::MkldnnTranspose;
  auto gradient = [&](bool wanted, const Tensor& of) {
    if (!wanted) return Tensor();
    // The other kernels keep the strides of dims of size 1, which the memory format leaves open.
    if (!onednn && of.dim() > 3 && of.is_contiguous(kernel.format)) return like(of);
    return in_format(of.sizes().vec(), of.scalar_type(), kernel.format);
  };
  return {gradient(mask[0], x), gradient(mask[1], weight),
          mask[2] ? empty({grad.size(1)}, grad.scalar_type()) : Tensor()};
}

void add_general(RuleTable& table) {
  table.add({"convolution", "_convolution", "convolution_overrideable"},
            [](const Tensor& x, const Tensor& weight, Skip, Sizes stride, Sizes padding, Sizes dilation,
               bool transposed, Sizes output_padding, int64_t groups) {
              return convolution(x, weight, {stride, padding, dilation, output_padding, transposed, groups});
            });
  table.add("convolution_backward",
            [](const Tensor& grad, const Tensor& x, const Tensor& weight, Skip, Sizes stride, Sizes padding,
               Sizes dilation, bool transposed, Sizes output_padding, int64_t groups, Mask3 mask) {
              Convolution conv{stride, padding, dilation, output_padding, transposed, groups};
              return backward(grad, x, weight, mask, chosen_kernel(x, weight, conv));
            });
}

void add_slow(RuleTable& table) {
  table.add({"_slow_conv2d_forward"},
            [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride, Sizes padding) {
              return convolution(x, weight, {stride, padding, {1}, {}}, ConvBackend::Slow2d);
            });
  table.add({"slow_conv3d_forward"},
            [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride, Sizes padding) {
              return convolution(x, weight, {stride, padding, {1}, {}}, ConvBackend::Slow3d);
            });
  table.add("slow_conv_dilated2d", [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride,
                                      Sizes padding, Sizes dilation) {
    return convolution(x, weight, {stride, padding, dilation, {}}, ConvBackend::SlowDilated2d);
  });
  table.add("slow_conv_dilated3d", [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride,
                                      Sizes padding, Sizes dilation) {
    return convolution(x, weight, {stride, padding, dilation, {}}, ConvBackend::SlowDilated3d);
  });
  table.add("slow_conv_transpose2d", [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride,
                                        Sizes padding, Sizes output_padding, Sizes dilation) {
    return convolution(x, weight, {stride, padding, dilation, output_padding, true},
                       ConvBackend::SlowTranspose2d);
  });
  table.add("slow_conv_transpose3d", [](const Tensor& x, const Tensor& weight, Skip, Skip, Sizes stride,
                                        Sizes padding, Sizes output_padding, Sizes dilation) {
    return convolution(x, weight, {stride, padding, dilation, output_padding, true},
                       ConvBackend::SlowTranspose3d);
  });
  table.add("_slow_conv2d_backward.output_mask",
            [](const Tensor& grad, const Tensor& x, const Tensor& weight, Skip, Skip, Skip, Mask3 mask) {
              return backward(grad, x, weight, mask, given_kernel(x, weight, ConvBackend::Slow2d));
            });
  table.add_out(
      "_slow_conv2d_backward.grad_input", [](const Tensor& grad, const Tensor& x, const Tensor& weight) {
        return backward(grad, x, weight, {true, true, true}, given_kernel(x, weight, ConvBackend::Slow2d));
      });
}

}  // namespace

void add_convolution_rules(RuleTable& table) {
  add_general(table);
  add_slow(table);
}

}  // namespace antegrad::capture::rules
