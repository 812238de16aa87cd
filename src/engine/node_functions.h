#pragma once
#include <torch/csrc/dynamo/compiled_autograd.h>

namespace antegrad::engine {

/// Makes autograd nodes run at once when they are traced: a function that LibTorch would hand to Python is
/// called directly, on the tensors that stand in for saved ones. To be called before the first node is
/// traced; idempotent.
void install_node_functions();

/// Returns whether the node is a torch::autograd::Function that its author has declared traceable.
bool is_traceable_function(torch::autograd::Node& node);

}  // namespace antegrad::engine
