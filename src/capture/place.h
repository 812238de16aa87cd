#pragma once
#include <string>
#include <vector>

#include "antegrad/error.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// Returns the error with one more sentence, which says where in the captured function it was thrown: file
/// and line of the user's code (where symbols exist), scope, and the last ops of the graph. `stack`: as
/// call_stack() returns it.
Error with_place(const Error& error, const ir::Graph& graph, const std::vector<void*>& stack);

/// Returns the call stack at which LibTorch threw an error.
std::vector<void*> call_stack_of(const std::exception& error);

}  // namespace antegrad::capture
