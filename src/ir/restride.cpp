#include "ir/restride.h"

namespace antegrad::ir {

Node restride_node(ValueId tensor, const TensorType& type) {
  Node node;
  node.op = "antegrad.restride";
  node.args = {tensor, Arg(Arg::List(type.strides.begin(), type.strides.end()))};
  return node;
}

}  // namespace antegrad::ir
