#pragma once
#include <optional>

#include "capture/op_schema.h"
#include "ir/graph.h"

namespace antegrad::aot {

/// The op without writes that computes what `schema` writes: relu_ → relu, add.out → add.Tensor. Its results
/// stand for the written arguments in order. Null when there is none that is known to be equal to the last
/// bit; then the op runs on copies (ir::Node::functional).
const capture::OpSchema* functional_variant(const capture::OpSchema& schema);

/// The call of that variant: the same arguments, less those that were only written.
ir::Node functional_call(const ir::Node& node, const capture::OpSchema& schema,
                         const capture::OpSchema& variant);

}  // namespace antegrad::aot
