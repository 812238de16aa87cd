#pragma once
#include <string>
#include <vector>

#include "compiler/code/captured.h"

namespace antegrad::compiler {

/// Returns the graph, after its passes, with calls of graphs (ir/calls.h) instead of regions and of steps
/// back through them, where that is possible: calls of region(), whose bodies neither draw random numbers nor
/// have an order with other code. Equal bodies are differentiated and partitioned once.
ir::Graph with_bodies_in_place(const CaptureSettings& settings, ir::Graph graph, const CaptureFacts& facts);

/// For Report::regions: the calls of region() that are left in the graph, and why.
std::vector<std::string> bodies_not_in_place(const ir::Graph& graph);

}  // namespace antegrad::compiler
