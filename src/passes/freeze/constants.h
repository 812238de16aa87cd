#pragma once
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// Whether each input of a functional graph is a captured tensor that the graph does not write to. Their
/// contents are constants of a frozen function (Options::freeze).
std::vector<bool> constant_inputs(const ir::Graph& graph);

/// Whether each value is computed from constant inputs and literals alone, the same in every call.
ir::PerValue<bool> constant_values(const ir::Graph& graph);

/// Takes out of a functional graph what is computed from constant inputs. Returns the graph that computes it,
/// which has the same inputs; its outputs are the last inputs of `graph` from now on, of role Constant.
/// Nothing if there is nothing to take out. Views of inputs, and results that would take much more memory
/// than what they are computed from, stay.
std::optional<ir::Graph> take_out_constants(ir::Graph& graph);

}  // namespace antegrad::passes
