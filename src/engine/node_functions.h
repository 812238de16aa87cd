#pragma once
#include <torch/csrc/dynamo/compiled_autograd.h>

namespace antegrad::engine {

/// Makes nodes of autograd's graph run in place when they are asked to be traced: what LibTorch would hand to
/// Python is called at once, on the tensors that stand in for saved ones. Needed once per process, before the
/// first node is traced; harmless otherwise.
void install_node_functions();

}  // namespace antegrad::engine
