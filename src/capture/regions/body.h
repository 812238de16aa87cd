#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "capture/recorder.h"
#include "ir/graph.h"

namespace antegrad::capture {

using BodyFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// A function that ran inside a capture and was cut out of its graph: the body of a region. Its inputs are
/// the placeholders that it was called with, then the tensors of the surroundings that it reads.
struct Body {
  std::vector<ir::Node> nodes;  ///< values are those of the capture
  std::vector<ir::ValueId> placeholders;
  std::vector<ir::ValueId> outputs;
  std::vector<ir::TensorType> types;  ///< of the outputs
  std::vector<ir::ValueId> reads;     ///< values of the surroundings, in the order in which they are used
  std::vector<at::Tensor> tensors;    ///< these
  std::vector<std::vector<bool>> reached;  ///< per output: which inputs it has a gradient for
  bool random = false;
  bool ordered = false;  ///< it has ordered nodes, or some that may throw
};

/// What a body is called with.
struct BodyCall {
  std::string region;                 ///< for errors
  std::vector<at::Tensor> like;       ///< a placeholder is made for each
  std::vector<at::Tensor> arguments;  ///< tensors of the surroundings that `function` gets
  BodyFunction function;              ///< called with the placeholders
};

/// Runs the function while the recorder records, and takes what it has recorded out of the graph. Results
/// that share memory with arguments, placeholders or each other are copied. Throws Error(UnsupportedOp) for
/// what could not be repeated without the function: writes to tensors of the surroundings, hooks, custom
/// functions of autograd.
Body record_body(Recorder& recorder, const BodyCall& call);

/// A body as a graph of its own.
struct BodyGraph {
  ir::GraphPtr graph;
  std::vector<int64_t> plain;  ///< nodes that ran without gradient mode
};
/// `reads`: of all bodies of the region, whose graphs have the same inputs after their placeholders.
BodyGraph graph_of(const Body& body, const std::vector<ir::ValueId>& reads, const ir::Graph& outer);

}  // namespace antegrad::capture
