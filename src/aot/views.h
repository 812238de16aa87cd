#pragma once
#include "aot/emitter.h"

namespace antegrad::aot {

/// What `parent` becomes when its view (made by `view`) gets the contents `contents`, which has the view's
/// layout. Not valid when the view op has no inverse of its own: then Emitter::strided_scatter does it.
ir::ValueId undo_view(Emitter& emit, const ir::Node& view, ir::ValueId parent, ir::ValueId contents);

/// The functional spelling of an op that changes its argument's metadata in place: "aten.t_" → "aten.t".
std::string view_op_of_inplace(const std::string& op);

}  // namespace antegrad::aot
