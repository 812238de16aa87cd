#include "partition/copies.h"

#include <utility>

namespace antegrad::partition {

namespace {

bool overlaps_itself(const ir::TensorType& type) {
  for (size_t i = 0; i < type.sizes.size(); ++i)
    if (type.strides[i] == ir::Dim(0) && !(type.sizes[i] == ir::Dim(1))) return true;
  return false;
}

}  // namespace

ir::TensorType copied_type(const ir::TensorType& type) {
  auto copy = type;
  copy.offset = 0;
  if (overlaps_itself(type)) copy.strides = ir::contiguous_strides(type.sizes);
  return copy;
}

ir::ValueId copy_node(ir::Graph& graph, ir::ValueId id, std::vector<ir::Node>& copies) {
  const auto type = graph.tensor_type(id);
  ir::Node node;
  if (type.is_contiguous()) {
    node.op = "aten.clone";
    node.args = {id};
  } else if (overlaps_itself(type)) {
    node.op = "aten.clone";
    node.args = {id};
    node.attrs = {{"memory_format", ir::MemoryFormat::Contiguous}};
  } else {
    node.op = "antegrad.restride";
    node.args = {id, ir::Arg::List(type.strides.begin(), type.strides.end())};
  }
  const auto copy = graph.add_value(copied_type(type));
  node.outputs = {copy};
  copies.push_back(std::move(node));
  return copy;
}

}  // namespace antegrad::partition
