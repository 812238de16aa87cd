#include "fuzz/tangent.h"

#include <ATen/ATen.h>

#include "fuzz/program.h"

namespace antegrad::fuzz {
namespace {

at::Tensor numbers(Rng& rng, const Sizes& sizes, const at::Tensor& like) {
  at::Tensor values = at::empty(sizes, at::kDouble);
  auto* data = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) data[i] = static_cast<double>(rng.range(-200, 200)) / 100.0;
  return values.to(like.options());
}

}  // namespace

at::Tensor make_tangent(const at::Tensor& like, Rng rng) {
  Sizes sizes = like.sizes().vec();
  switch (rng.below(4)) {
    case 0: {
      std::reverse(sizes.begin(), sizes.end());
      Sizes dims;
      for (int64_t d = like.dim(); d-- > 0;) dims.push_back(d);
      return numbers(rng, sizes, like).permute(dims);
    }
    case 1:
      sizes.push_back(2);
      return numbers(rng, sizes, like).select(-1, 1);
    case 2:
      return numbers(rng, {}, like).expand(sizes);
    default:
      return numbers(rng, sizes, like);
  }
}

}  // namespace antegrad::fuzz
