#pragma once
#include "aot/emitter.h"

namespace antegrad::aot {

/// Returns what `parent` becomes when its view (made by `view`) gets the contents `contents`, which has the
/// view's layout. Invalid when the view op has no inverse of its own; then use Emitter::strided_scatter.
ir::ValueId undo_view(Emitter& emit, const ir::Node& view, ir::ValueId parent, ir::ValueId contents);

/// Returns the functional counterpart of an op that changes its argument's metadata in place: "aten.t_" →
/// "aten.t".
std::string view_op_of_inplace(const std::string& op);

}  // namespace antegrad::aot
