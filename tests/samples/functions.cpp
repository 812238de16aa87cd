#include "samples/functions.h"

#include <torch/torch.h>

#include "samples/tensor_text.h"

namespace antegrad::samples {
namespace {

using T = at::Tensor;
using Tensors = std::vector<T>;
namespace F = torch::nn::functional;

/// Functions of one or two tensors with one result.
Function unary(const char* name, const char* args, T (*call)(const T&)) {
  return {name, args, [call](const Tensors& x) { return Tensors{call(x[0])}; }};
}
Function binary(const char* name, const char* args, T (*call)(const T&, const T&)) {
  return {name, args, [call](const Tensors& x) { return Tensors{call(x[0], x[1])}; }};
}

std::vector<Function> operators() {
  return {
      unary("__radd__", "d[3,4]", [](const T& x) { return 2.5 + x; }),
      unary("__rsub__", "d[3,4]", [](const T& x) { return 2.5 - x; }),
      unary("__rmul__", "d[3,4]", [](const T& x) { return 2.5 * x; }),
      unary("__rdiv__", "d[3,4]+", [](const T& x) { return 2.5 / x; }),
      unary("__rpow__", "d[3,4]", [](const T& x) { return at::pow(2.5, x); }),
      binary("__rmatmul__", "d[4,5] d[3,4]", [](const T& x, const T& y) { return y.matmul(x); }),
      unary("__getitem__", "d[3,4]",
            [](const T& x) {
              return x.index({1, torch::indexing::Slice(0, 3, 2)});
            }),
      unary("H", "z[3,4]", [](const T& x) { return x.matrix_H(); }),
      unary("T", "d[3,4]", [](const T& x) { return x.numpy_T(); }),
      unary("to", "f[3,4]", [](const T& x) { return x.to(at::kDouble); }),
      unary("double", "f[3,4]", [](const T& x) { return x.to(at::kDouble); }),
      unary("float", "d[3,4]", [](const T& x) { return x.to(at::kFloat); }),
      unary("half", "f[3,4]", [](const T& x) { return x.to(at::kHalf); }),
      unary("bfloat16", "f[3,4]", [](const T& x) { return x.to(at::kBFloat16); }),
      unary("cfloat", "f[3,4]", [](const T& x) { return x.to(at::kComplexFloat); }),
      unary("cdouble", "d[3,4]", [](const T& x) { return x.to(at::kComplexDouble); }),
  };
}

std::vector<Function> activations() {
  return {
      unary("nn.functional.softmin", "d[3,4]", [](const T& x) { return F::softmin(x, 1); }),
      unary("nn.functional.softsign", "d[3,4]", [](const T& x) { return F::softsign(x); }),
      unary("nn.functional.tanhshrink", "d[3,4]", [](const T& x) { return F::tanhshrink(x); }),
      unary("nn.functional.normalize", "d[3,4]", [](const T& x) { return F::normalize(x); }),
      unary("nn.functional.local_response_norm", "d[2,4,3,3]",
            [](const T& x) { return F::local_response_norm(x, 2); }),
      unary("nn.functional.dropout2d", "d[2,3,4,4]", [](const T& x) { return F::dropout2d(x); }),
      unary("nn.functional.dropout3d", "d[1,2,2,2,2]", [](const T& x) { return F::dropout3d(x); }),
      unary("nn.functional.interpolate", "d[2,3,4,4]",
            [](const T& x) {
              return F::interpolate(
                  x, F::InterpolateFuncOptions().size(std::vector<int64_t>{6, 5}).mode(torch::kBicubic));
            }),
      unary("nn.functional.upsample_bilinear", "d[2,3,4,4]",
            [](const T& x) {
              return F::interpolate(
                  x, F::InterpolateFuncOptions().size(std::vector<int64_t>{6, 5}).mode(torch::kBilinear));
            }),
      unary("nn.functional.upsample_nearest", "d[2,3,4,4]",
            [](const T& x) {
              return F::interpolate(
                  x, F::InterpolateFuncOptions().size(std::vector<int64_t>{6, 5}).mode(torch::kNearest));
            }),
      binary("nn.functional.max_unpool1d", "d[1,2,3] i[1,2,3]=(0,2,5,1,3,4)",
             [](const T& x, const T& i) { return F::max_unpool1d(x, i, F::MaxUnpool1dFuncOptions(2)); }),
  };
}

/// The keys are also the values: for equal sizes, LibTorch compares the data of the two to find out whether
/// they are.
T attention(const Tensors& x) {
  const auto options = F::MultiheadAttentionForwardFuncOptions(
                           /*embed_dim=*/4, /*num_heads=*/2, /*in_proj_weight=*/x[2], /*in_proj_bias=*/x[3],
                           /*bias_k=*/{}, /*bias_v=*/{}, /*add_zero_attn=*/false, /*dropout_p=*/0.0,
                           /*out_proj_weight=*/x[4], /*out_proj_bias=*/x[5])
                           .training(true);
  return std::get<0>(F::multi_head_attention_forward(x[0], x[1], x[1], options));
}

std::vector<Function> losses() {
  return {
      {"nn.functional.gaussian_nll_loss", "d[3,4] d[3,4] d[3,4]+",
       [](const Tensors& x) {
         const auto variance = x[2].clamp_min(1e-6);
         return Tensors{(0.5 * (variance.log() + (x[0] - x[1]).square() / variance)).mean()};
       }},
      binary("nn.functional.multilabel_soft_margin_loss", "d[3,4] d[3,4]%",
             [](const T& x, const T& y) { return F::multilabel_soft_margin_loss(x, y); }),
      {"nn.functional.triplet_margin_with_distance_loss", "d[3,4] d[3,4] d[3,4]",
       [](const Tensors& x) { return Tensors{F::triplet_margin_with_distance_loss(x[0], x[1], x[2])}; }},
      {"nn.functional.multi_head_attention_forward", "d[3,2,4] d[5,2,4] d[12,4] d[12] d[4,4] d[4]",
       [](const Tensors& x) { return Tensors{attention(x)}; }},
  };
}

std::vector<Function> transforms() {
  return {
      // A loss of eigenvectors has a gradient only if it does not depend on their phase.
      {"linalg.eig", "d[3,3]",
       [](const Tensors& x) {
         const auto [values, vectors] = at::linalg_eig(x[0]);
         return Tensors{values, vectors.abs()};
       }},
      binary("stft", "d[2,16] d[8]+",
             [](const T& x, const T& w) { return at::stft(x, 8, 4, 8, w, false, true, true); }),
      binary("istft", "z[5,6] d[8]+",
             [](const T& x, const T& w) {
               return at::istft(x, 8, 4, 8, w, true, false, true, std::nullopt, false);
             }),
  };
}

}  // namespace

std::vector<at::Tensor> arguments_of(const Function& function, uint64_t seed) {
  Random random(seed);
  Tensors tensors;
  for (auto text : split(function.args, ' '))
    tensors.push_back(text == "_" ? T() : make_tensor(text, random));
  return tensors;
}

const std::vector<Function>& functions() {
  static const auto all = [] {
    std::vector<Function> list;
    for (auto* group : {operators, activations, losses, transforms})
      for (auto& function : group()) list.push_back(std::move(function));
    return list;
  }();
  return all;
}

}  // namespace antegrad::samples
