#pragma once
#include <ATen/core/Tensor.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "aot/signature.h"
#include "partition/partition.h"
#include "runtime/executable.h"

namespace antegrad::runtime {

/// Gradients that can be differentiated again.
class HigherOrder {
 public:
  virtual ~HigherOrder() = default;
  /// `primals`: the caller's inputs, undefined where no gradient depends on them. `tangents`: all defined.
  /// Returns one tensor per gradient of the signature.
  virtual std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& primals,
                                            const std::vector<at::Tensor>& tangents) = 0;
};

/// The backward half of a differentiable function, shared by all its calls. Thread-safe.
class Backward {
 public:
  /// `primals`: the caller's inputs that gradients depend on.
  Backward(partition::Partition partition, const aot::Signature& signature, std::vector<int32_t> primals);

  /// Per saved value that is an input: its slot. Values follow in the order of `saved_results`.
  const std::vector<int32_t>& saved_slots() const { return saved_slots_; }
  const std::vector<int32_t>& saved_results() const { return saved_results_; }
  const std::vector<int32_t>& primals() const { return primals_; }
  const std::vector<int32_t>& gradients() const { return gradients_; }
  const std::vector<ir::TensorType>& tangent_types() const { return tangent_types_; }
  const ir::Graph& graph() const { return graph_; }

  /// Makes the executable now instead of at the first run.
  void compile() const { executable(std::vector<bool>(gradients_.size(), true)); }

  /// `saved`: inputs, then results. Undefined tangents count as zeros; a gradient that depends on undefined
  /// ones only is undefined, and so are those that are not wanted.
  std::vector<at::Tensor> run(std::vector<at::Tensor> saved, std::vector<at::Tensor> tangents,
                              const std::vector<bool>& wanted) const;
  /// A gradient as the graph expects it: of the strides it was captured for, without lazy bits.
  at::Tensor fit(const at::Tensor& tangent, size_t index) const;

  std::shared_ptr<HigherOrder> higher_order;  ///< null: there is none
  std::exception_ptr error;                   ///< what eager's backward() throws
  int32_t rng_slot = -1;                      ///< the state of fused random ops; -1: none
  bool draws_eagerly = false;  ///< some random op of the forward graph draws from LibTorch's generator

 private:
  std::shared_ptr<const Executable> executable(const std::vector<bool>& wanted) const;
  void find_dependencies();

  ir::Graph graph_;
  std::vector<int32_t> saved_slots_, saved_results_;
  std::vector<size_t> place_of_input_;  ///< per saved input of the graph: its place in `saved`
  std::vector<int32_t> primals_;
  std::vector<int32_t> gradients_;
  std::vector<ir::TensorType> tangent_types_;
  std::vector<std::vector<bool>> depends_;  ///< per gradient, per tangent
  mutable std::mutex mutex_;
  mutable std::map<std::vector<bool>, std::shared_ptr<const Executable>> executables_;  ///< by what is wanted
};

}  // namespace antegrad::runtime
