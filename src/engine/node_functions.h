#pragma once
#include <torch/csrc/dynamo/compiled_autograd.h>

namespace antegrad::engine {

/// Makes nodes of autograd's graph run in place when they are asked to be traced: what LibTorch would hand to
/// Python is called at once, on the tensors that stand in for saved ones. Needed once per process, before the
/// first node is traced; harmless otherwise.
void install_node_functions();

/// Gives a node back what stands in for its saved things, where running it has thrown.
void put_back(torch::dynamo::autograd::SwapSavedVariables& swap);

/// Whether it is a torch::autograd::Function that its author has declared traceable.
bool is_traceable_function(torch::autograd::Node& node);

}  // namespace antegrad::engine
