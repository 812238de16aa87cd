#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "capture/infer.h"
#include "ir/graph.h"

namespace antegrad::aot {

/// Appends nodes to a functional graph and infers the types of their results as capture does.
class Emitter {
 public:
  explicit Emitter(ir::Graph& graph) : graph_(graph) {}

  ir::Graph& graph() { return graph_; }
  const ir::TensorType& type(ir::ValueId value) const { return graph_.tensor_type(value); }

  /// Appends a node whose result types are inferred; node.outputs must be empty. Returns the node's outputs.
  std::vector<ir::ValueId> infer(ir::Node node);
  /// Appends an ATen op with one result.
  ir::ValueId op(std::string name, std::vector<ir::Arg> args, std::vector<ir::NamedArg> attrs = {});
  /// Appends a node whose results have the given types.
  std::vector<ir::ValueId> known(ir::Node node, const std::vector<ir::Value>& results);

  /// Appends the view of `value` with these sizes and strides, `offset` elements after its own first element.
  ir::ValueId strided(ir::ValueId value, const ir::TensorType& shape, int64_t offset);
  /// Appends a copy of `value` in which `source` replaces the elements of that view.
  ir::ValueId strided_scatter(ir::ValueId value, ir::ValueId source, const ir::TensorType& shape,
                              int64_t offset);
  /// Converts `value` to the dtype and the strides of `type`, whose sizes are equal. Returns `value` itself
  /// when there is nothing to do.
  ir::ValueId fit(ir::ValueId value, const ir::TensorType& type);

  ir::Provenance provenance;  ///< of nodes appended from now on

 private:
  at::Tensor meta_of(ir::ValueId value);

  ir::Graph& graph_;
  ir::PerValue<at::Tensor> metas_;  ///< created on demand
  capture::InferenceCounts counts_;
};

/// Returns whether dtype, device, sizes and strides are equal; offsets may differ.
bool same_layout(const ir::TensorType& a, const ir::TensorType& b);

}  // namespace antegrad::aot
