#pragma once
#include "program/graph.h"

namespace antegrad::program {

/// Finds out what a node calls: an op of this process, arithmetic on sizes, or a higher-order op. Throws
/// Error(UnsupportedOp), Error(Parse).
void resolve(Node& node);

/// " at node add_1, /home/me/net.py:12, in forward: return x + y": empty parts are left out.
std::string where_in_python(const Node& node);

}  // namespace antegrad::program
