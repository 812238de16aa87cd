#include "step_rates.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "device.h"
#include "runtime/onednn.h"
#include "timing.h"

namespace antegrad::benchmarks {

double Limits::Way::rate() const { return ns.empty() ? 0 : work / median(ns); }

void Limits::add_products(int64_t size, bool in_bf16) {
  namespace onednn = runtime::onednn;
  const auto options = at::TensorOptions(device()).dtype(in_bf16 ? at::kBFloat16 : at::kFloat);
  const auto left = at::randn({size, size}, options), right = at::randn({size, size}, options),
             out = at::empty({size, size}, options);
  const auto work = 2 * static_cast<double>(size * size * size);
  products_.push_back({[=] {
                         auto result = out;
                         at::mm_out(result, left, right);
                         synchronize();
                       },
                       work,
                       {}});
  const auto type = ir::contiguous_tensor(ir::DType::F32, {ir::Dim(size), ir::Dim(size)});
  onednn::set_use(onednn::Use::Always);
  if (!in_bf16 && device().is_cpu() && onednn::wins(type, type))
    products_.push_back({[=] { onednn::multiply(left, right, out, /*adds=*/false); }, work, {}});
  onednn::set_use(onednn::Use::Auto);
}

Limits::Limits(bool in_bf16, Scale scale) {
  const at::NoGradGuard no_grad;
  const bool small = scale == Scale::Small, large = scale == Scale::Cuda;
  for (const int64_t size : {512, 1024}) add_products(small ? size / 8 : large ? size * 8 : size, in_bf16);
  // Large enough that waiting for a CUDA device does not count.
  const auto from = at::ones({small   ? 1 << 16
                              : large ? 1 << 28
                                      : 1 << 24},
                             device()),
             to = at::ones_like(from);
  copy_.work = 2 * static_cast<double>(from.nbytes());
  copy_.run = [from, to] {
    if (device().is_cuda()) {
      to.copy_(from);
      return synchronize();
    }
    at::parallel_for(0, from.numel(), 1, [&](int64_t begin, int64_t end) {
      std::memcpy(to.mutable_data_ptr<float>() + begin, from.const_data_ptr<float>() + begin,
                  static_cast<size_t>(end - begin) * sizeof(float));
    });
  };
  for (auto& way : products_) way.run();
  copy_.run();
}

void Limits::sample() {
  const at::NoGradGuard no_grad;
  const auto time = [](Way& way) {
    const auto start = Clock::now();
    way.run();
    way.ns.push_back(nanoseconds_since(start));
  };
  for (auto& way : products_) time(way);
  time(copy_);
}

Limits::Rates Limits::rates() const {
  Rates out{0, copy_.rate()};
  for (const auto& way : products_) out.product_gflops = std::max(out.product_gflops, way.rate());
  return out;
}

}  // namespace antegrad::benchmarks
