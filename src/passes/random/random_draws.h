#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// A random tensor drawn by an op of antegrad: the op's name and its arguments after state and offset.
struct RandomDraw {
  std::string_view op;
  std::vector<ir::Arg> parameters;
};

/// Returns what a node with one result draws. Returns nothing for unknown ops, for parameters and types that
/// LibTorch rejects (so that it still does) or that antegrad's ops do not support, and for memory that
/// overlaps itself.
std::optional<RandomDraw> random_draw(const ir::Graph& graph, const ir::Node& node);

/// Whether antegrad's op can fill a tensor of this type with these parameters.
bool can_draw(const ir::Graph& graph, const RandomDraw& draw, const ir::TensorType& type);

/// The number of counters of util/philox.h needed to fill a tensor of this type.
ir::Dim counters_used(const RandomDraw& draw, const ir::TensorType& type);

}  // namespace antegrad::passes
