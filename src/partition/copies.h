#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::partition {

/// The type of a copy, which starts at the beginning of its own memory and keeps sizes and strides, even
/// those of expanded tensors, so that views of the value become views of the copy.
ir::TensorType copied_type(const ir::TensorType& type);

/// Appends a node to `copies` that copies the value; the copy is a new value of the graph.
ir::ValueId copy_node(ir::Graph& graph, ir::ValueId id, std::vector<ir::Node>& copies);

}  // namespace antegrad::partition
