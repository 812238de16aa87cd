#pragma once
#include <string_view>

#include "antegrad/export.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// How exported graphs name what belongs to something else: "grad:weight", "mutated:running_mean",
/// "tangent:output0".
constexpr std::string_view kGradientPrefix = "grad:";
constexpr std::string_view kMutationPrefix = "mutated:";
constexpr std::string_view kTangentPrefix = "tangent:";

/// Reads the signature off a graph, which holds all of it in roles, names and targets. Throws Error(Verify)
/// for a graph that is no exported one.
GraphSignature signature_of(const ir::Graph& graph);

}  // namespace antegrad::compiler
