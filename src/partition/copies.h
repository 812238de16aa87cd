#pragma once
#include <vector>

#include "ir/graph.h"

namespace antegrad::partition {

/// The type of a copy that begins its own memory and keeps sizes and strides, also those of expanded tensors:
/// views of the copy are what views of the value were.
ir::TensorType copied_type(const ir::TensorType& type);

/// Appends to `copies` a node that copies the value; the copy is a new value of the graph.
ir::ValueId copy_node(ir::Graph& graph, ir::ValueId id, std::vector<ir::Node>& copies);

}  // namespace antegrad::partition
