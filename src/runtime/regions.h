#pragma once
#include "runtime/instructions.h"

namespace antegrad::runtime {

/// Makes the call of a region (an op "antegrad.region.…"), whose bodies are compiled functions.
using MakeRegionCall = std::unique_ptr<Instruction> (*)(const ir::Node& node, const ir::Graph& graph,
                                                        const RegisterMap& register_of);
/// Compiled functions are above this folder, which is told here how to call them. Returns true.
bool set_region_calls(MakeRegionCall make);

}  // namespace antegrad::runtime
