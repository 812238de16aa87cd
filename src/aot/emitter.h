#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "capture/infer.h"
#include "ir/graph.h"

namespace antegrad::aot {

/// Appends nodes to a functional graph and finds the types of their results as capture does.
class Emitter {
 public:
  explicit Emitter(ir::Graph& graph) : graph_(graph) {}

  ir::Graph& graph() { return graph_; }
  const ir::TensorType& type(ir::ValueId value) const { return graph_.tensor_type(value); }

  /// Results get types by inference; node.outputs must be empty. Returns the node's outputs.
  std::vector<ir::ValueId> infer(ir::Node node);
  /// An aten op with one result.
  ir::ValueId op(std::string name, std::vector<ir::Arg> args, std::vector<ir::NamedArg> attrs = {});
  /// Results of the given types; for ops whose results are already known.
  std::vector<ir::ValueId> known(ir::Node node, const std::vector<ir::Value>& results);

  /// The view of `value` with these sizes and strides, `offset` elements after its own first element.
  ir::ValueId strided(ir::ValueId value, const ir::TensorType& shape, int64_t offset);
  /// `value` with the elements of that view replaced by `source`.
  ir::ValueId strided_scatter(ir::ValueId value, ir::ValueId source, const ir::TensorType& shape,
                              int64_t offset);
  /// `value` converted to the dtype and the strides of `type` (sizes are equal); itself when nothing is to be
  /// done.
  ir::ValueId fit(ir::ValueId value, const ir::TensorType& type);

  ir::Provenance provenance;  ///< for the nodes to come

 private:
  at::Tensor meta_of(ir::ValueId value);

  ir::Graph& graph_;
  ir::PerValue<at::Tensor> metas_;  ///< made when first needed
  capture::InferenceCounts counts_;
};

/// Same dtype, device, sizes and strides; offsets may differ.
bool same_layout(const ir::TensorType& a, const ir::TensorType& b);

}  // namespace antegrad::aot
