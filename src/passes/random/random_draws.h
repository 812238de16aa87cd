#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// A random tensor as antegrad draws it: the op's name and its arguments after state and offset.
struct RandomDraw {
  std::string_view op;
  std::vector<ir::Arg> parameters;
};

/// What a node with one result draws. Nothing for an op that is not known, for parameters and types that
/// LibTorch refuses (so that it goes on doing so) or that antegrad's ops do not take, and for memory that
/// overlaps itself.
std::optional<RandomDraw> random_draw(const ir::Graph& graph, const ir::Node& node);

/// Whether antegrad's op can fill a tensor of this type with these parameters.
bool can_draw(const ir::Graph& graph, const RandomDraw& draw, const ir::TensorType& type);

/// How many counters of util/philox.h it takes to fill a tensor of this type.
ir::Dim counters_used(const RandomDraw& draw, const ir::TensorType& type);

}  // namespace antegrad::passes
