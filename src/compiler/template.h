#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/captured.h"
#include "partition/partition.h"
#include "runtime/calling.h"

namespace antegrad::compiler {

/// What is compiled once for all sizes of a captured function: the graph over symbols, its halves and their
/// kernels. A function of fixed sizes is one without symbols. Thread-safe.
class Template : public std::enable_shared_from_this<Template> {
 public:
  /// `graph`: functional or joint, before any pass. `trace`: of one of the captures that it is made of.
  Template(const CaptureSettings& settings, ir::Graph graph, const capture::Trace& trace);

  /// What a capture at these sizes differs in from the graph; "": in nothing.
  std::string difference(const std::vector<int64_t>& symbols, const Captured& captured) const;
  /// The function at these sizes.
  std::unique_ptr<runtime::Caller> instantiate(std::vector<int64_t> symbols, const Captured& captured,
                                               std::shared_ptr<runtime::HigherOrder> higher_order) const;

  const ir::Graph& graph() const { return graph_; }  ///< after the passes
  /// What a call runs, after the passes of the backend.
  const ir::Graph& forward() const { return partition_ ? partition_->forward : forward_; }
  const partition::Partition* partition() const { return partition_.get(); }  ///< null: no backward pass
  bool has_kernels() const { return has_kernels_; }  ///< else every op is run by LibTorch

 private:
  std::shared_ptr<const Lowered> lower(const ir::Graph& graph) const;
  std::shared_ptr<const Lowered> backward(const runtime::BackwardCase& which) const;
  runtime::BackwardFacts facts_of(const aot::Signature& signature, const capture::Trace& trace) const;

  const std::shared_ptr<const Lowering> lowering_;
  const bool backward_ahead_;
  ir::Graph captured_;  ///< before the passes
  ir::Graph graph_;
  ir::Graph forward_;  ///< without a backward pass
  bool takes_rng_state_ = false;
  bool has_kernels_ = false;
  std::vector<std::vector<bool>> reached_by_;
  std::unique_ptr<partition::Partition> partition_;
  std::shared_ptr<const Lowered> forward_code_;
  mutable std::mutex mutex_;  ///< one backward pass is made at a time
  mutable std::map<std::vector<bool>, std::shared_ptr<const Lowered>> backward_code_;
};

}  // namespace antegrad::compiler
