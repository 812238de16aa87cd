#include "partition/copies.h"

#include <utility>

#include "ir/restride.h"

namespace antegrad::partition {

ir::TensorType copied_type(const ir::TensorType& type) {
  auto copy = type;
  copy.offset = 0;
  return copy;
}

ir::ValueId copy_node(ir::Graph& graph, ir::ValueId id, std::vector<ir::Node>& copies) {
  const auto type = graph.tensor_type(id);
  ir::Node node;
  if (type.is_contiguous()) {
    node.op = "aten.clone";
    node.args = {id};
  } else {
    node = ir::restride_node(id, type);
  }
  const auto copy = graph.add_value(copied_type(type));
  node.outputs = {copy};
  copies.push_back(std::move(node));
  return copy;
}

}  // namespace antegrad::partition
