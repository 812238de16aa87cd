#pragma once
#include <optional>

#include "aten/op_schema.h"
#include "ir/graph.h"

namespace antegrad::aot {

/// Returns the op without writes that computes what `schema` writes: relu_ → relu, add.out → add.Tensor. Its
/// results are the new contents of the written arguments, in order. Null when no op is known to be equal to
/// the last bit; then the op runs on copies (ir::Node::functional).
const aten::OpSchema* functional_variant(const aten::OpSchema& schema);

/// Returns the call of that variant: the same arguments, without those that are only written.
ir::Node functional_call(const ir::Node& node, const aten::OpSchema& schema, const aten::OpSchema& variant);

}  // namespace antegrad::aot
