#pragma once
#include <string_view>

#include "antegrad/export.h"
#include "ir/graph.h"

namespace antegrad::compiler {

/// Prefixes of names in exported graphs that refer to another value: "grad:weight", "mutated:running_mean",
/// "tangent:output0".
constexpr std::string_view kGradientPrefix = "grad:";
constexpr std::string_view kMutationPrefix = "mutated:";
constexpr std::string_view kTangentPrefix = "tangent:";

/// Reads the signature of an exported graph from its roles, names and targets. Throws Error(Verify) for other
/// graphs.
GraphSignature signature_of(const ir::Graph& graph);

}  // namespace antegrad::compiler
