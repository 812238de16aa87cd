#include "compiler/function/new_sizes.h"

#include <c10/util/hash.h>

#include <algorithm>
#include <utility>

#include "compiler/regions/region.h"
#include "partition/cost.h"

namespace antegrad::compiler {
namespace {

/// What an op of LibTorch computes in a second, on one thread; only the order of magnitude matters.
constexpr double kBytesPerSecond = 1e10, kFlopsPerSecond = 5e10;
/// Up to this much work per op, most of its time is that of the call.
constexpr double kSmallWork = 7e-6;

uint64_t hash_of_sizes(const Leaves& leaves) {
  size_t hash = 0;
  for (const auto& tensor : leaves.tensors) {
    hash = c10::hash_combine(hash, tensor.defined() ? static_cast<size_t>(tensor.dim()) : 99);
    if (!tensor.defined()) continue;
    for (const auto size : tensor.sizes()) hash = c10::hash_combine(hash, c10::get_hash(size));
  }
  return hash;
}

}  // namespace

bool NewSizes::is_stream(uint64_t call, const Leaves& leaves) {
  const auto has_no_sizes = [](const at::Tensor& tensor) { return tensor.defined() && tensor.is_nested(); };
  if (std::ranges::any_of(leaves.tensors, has_no_sizes)) return false;
  const auto hash = hash_of_sizes(leaves);
  const std::scoped_lock lock(mutex_);
  if (!met_.insert(hash).second) return false;
  order_.push_back(hash);
  if (order_.size() > static_cast<size_t>(std::max(1, most_))) {
    met_.erase(order_.front());
    order_.pop_front();
  }
  const auto oldest = std::exchange(calls_[next_], call);
  next_ = (next_ + 1) % kNew;
  const auto window = streamed_ ? kLaterWindow : kWindow;
  const bool is_stream = oldest != 0 && call - oldest <= window;
  streamed_ = streamed_ || is_stream;
  return is_stream;
}

bool may_pass_by(const Template& compiled) {
  const auto& graph = compiled.plan().graph;
  if (has_checkpoint(graph)) return false;
  double seconds = 0;
  for (const auto& node : graph.nodes)
    seconds += static_cast<double>(partition::bytes_read(graph, node) + partition::bytes_made(graph, node)) /
                   kBytesPerSecond +
               partition::flops(graph, node) / kFlopsPerSecond;
  return seconds < kSmallWork * static_cast<double>(graph.nodes.size());
}

}  // namespace antegrad::compiler
