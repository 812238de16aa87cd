#pragma once
#include <ATen/core/Tensor.h>

#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "antegrad/tree.h"
#include "engine/collector.h"
#include "engine/flat_index.h"
#include "engine/segment_plan.h"

namespace antegrad::engine {

/// Thrown when what a node has saved was released, was written to, or cannot be traced.
struct CannotBeUnpacked : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the nodes of a segment have saved, and what identifies the segment.
class SegmentState {
 public:
  /// Unpacks what the nodes have saved. Throws CannotBeUnpacked where that fails.
  SegmentState(const PassGraph& graph, SegmentPlan& plan);

  /// Equal for segments that differ only in tensors and numbers. Not to be called after release().
  std::string_view structure() const { return collector_->bytes(); }
  /// Returns `gradients`, then what nodes have saved: tensors, numbers, sizes (as those of tensors without
  /// memory, so that they can become symbols).
  Leaves leaves(variable_list gradients) const;
  void release();

  // --- for tracing
  static constexpr uint32_t kFixedSize = kNoNode;
  const RecycledVector<at::Tensor>& tensors() const { return tensors_; }
  const std::vector<std::pair<size_t, at::Tensor>>& numbers() const { return numbers_; }
  size_t sizes() const { return sizes_.size(); }
  const RecycledVector<uint32_t>& size_uses() const { return size_uses_; }
  /// Collects everything through LibTorch, which is what its nodes can be traced with.
  Collector::Ptr collect_for_tracing(SegmentPlan& plan) const;

 private:
  void collect(const PassGraph& graph, SegmentPlan& plan);
  void collect_node(size_t n, NodeKind kind, SegmentPlan& plan, FlatIndex<uintptr_t>& known);
  void keep(at::Tensor tensor, FlatIndex<uintptr_t>& known);
  void collect_sizes();
  void collect_hooks(const SegmentPlan& plan);

  Collector::Ptr collector_ = Collector::take();
  RecycledVector<at::Tensor> tensors_;                  ///< each once
  std::vector<std::pair<size_t, at::Tensor>> numbers_;  ///< by node, in order; see scalars.h
  std::vector<double> plain_numbers_;                   ///< by node, in order; likewise
  std::vector<int64_t> sizes_;                          ///< each once
  RecycledVector<uint32_t>
      size_uses_;  ///< per size that a node has saved: its index in sizes_, or kFixedSize
};

}  // namespace antegrad::engine
