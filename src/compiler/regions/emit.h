#pragma once
#include <memory>

#include "capture/recorder.h"
#include "compiler/regions/run.h"

namespace antegrad::compiler {

/// Adds the region, or the derivative that it says, to the graph that is being captured. Its results have a
/// history that adds the derivative after it.
Tensors emit_region(capture::Recorder& recorder, std::shared_ptr<const Region> region,
                    const Tensors& operands);

/// A region that is part of a body: becomes a node while a graph is captured, and runs otherwise.
Tensors call_region(const ir::Node& node, const Tensors& operands);

}  // namespace antegrad::compiler
