#include "optim/processes.h"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "distributed/groups.h"

namespace antegrad::optim {
namespace {

std::string text_of(const at::Tensor& tensor) {
  return fmt::format("{} of sizes {}, strides {}\n", c10::toString(tensor.scalar_type()),
                     c10::str(tensor.sizes()), c10::str(tensor.strides()));
}

std::string text_of(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "none";
}

/// What has to be the same in all processes.
std::string text_of(const StepOptions& options) {
  const auto& how = options.data_parallel->gradients;
  return fmt::format(
      "gradients: average {}, buckets of {} bytes, every {} calls, clip_norm {} of type {}, clip_value {}, "
      "skip_nonfinite {}, scaled {}, shard_state {}\n",
      how.average, how.bucket_bytes, options.accumulate, text_of(options.clip_norm), options.norm_type,
      text_of(options.clip_value), options.skip_nonfinite, options.scaler != nullptr,
      options.data_parallel->shard_state);
}

Buckets fill(const std::vector<at::Tensor>& parameters, const std::vector<int64_t>& order,
             int64_t bucket_bytes, const Shares* shares) {
  Buckets buckets;
  std::map<std::pair<at::ScalarType, std::optional<int64_t>>, size_t> open;  // buckets that are being filled
  std::vector<size_t> full;  // per bucket: the place in the order at which it is
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& parameter = parameters[order[i]];
    const auto elements = parameter.numel(), bytes = parameter.element_size();
    const auto owner = shares == nullptr ? std::nullopt : std::optional(shares->owner_of(parameter));
    const auto [found, is_new] = open.emplace(std::pair(parameter.scalar_type(), owner), buckets.size());
    if (is_new || (buckets[found->second].elements + elements) * bytes > bucket_bytes) {
      found->second = buckets.size();
      buckets.emplace_back().owner = owner;
      full.emplace_back();
    }
    auto& bucket = buckets[found->second];
    bucket.parameters.push_back(order[i]);
    bucket.elements += elements;
    full[found->second] = i;
  }
  std::vector<size_t> places(buckets.size());
  std::iota(places.begin(), places.end(), 0);
  std::ranges::sort(places, {}, [&](size_t place) { return full[place]; });
  Buckets sorted;
  for (auto place : places) sorted.push_back(std::move(buckets[place]));
  return sorted;
}

}  // namespace

at::Tensor part_of(const at::Tensor& bucket, int64_t first, const at::Tensor& parameter) {
  if (parameter.is_non_overlapping_and_dense())
    return bucket.as_strided(parameter.sizes(), parameter.strides(), first);
  return bucket.narrow(0, first, parameter.numel()).view(parameter.sizes());
}

Buckets agree_on_buckets(const StepOptions& options, const std::vector<at::Tensor>& parameters,
                         std::vector<int64_t> order, const Shares* shares) {
  const auto& how = options.data_parallel->gradients;
  auto known = order;
  std::ranges::sort(known);
  auto text = text_of(options);
  for (auto i : known) text += fmt::format("{}: {}", i, text_of(parameters[i]));
  distributed::agree(text, how.group);
  if (!order.empty()) {
    const auto of_first = at::tensor(order, at::kLong);
    distributed::start_broadcast(of_first, 0, how.group)();
    order.assign(of_first.const_data_ptr<int64_t>(), of_first.const_data_ptr<int64_t>() + order.size());
  }
  return fill(parameters, order, how.bucket_bytes, shares);
}

void take_from_first(const std::vector<at::Tensor>& tensors, const AllReduce& processes) {
  std::string text = "tensors of process 0\n";
  for (const auto& tensor : tensors) text += text_of(tensor);
  distributed::agree(text, processes.group);
  const at::NoGradGuard no_grad;
  for (const auto& tensor : tensors) {
    if (tensor.numel() == 0) continue;
    const auto received = tensor.detach().to(at::kCPU).clone(at::MemoryFormat::Contiguous);
    distributed::start_broadcast(received.view({-1}).view(at::kByte), 0, processes.group)();
    tensor.copy_(received);
  }
}

}  // namespace antegrad::optim
