#pragma once
#include <map>
#include <string>
#include <utility>

#include "codegen/cpu/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cpu {

/// First and end iteration of loops that do not run over their whole extent.
using Bounds = std::map<int32_t, std::pair<std::string, std::string>>;

/// Prints the loops and statements of one section. The surrounding code defines the variables of the outer
/// loops, accumulators, `bad`, `begin`, `end` and, in a kernel with lanes, `first` and the number of lanes
/// `n`.
void print_section(Writer& writer, LaneNames& names, const SectionPlan& plan, const Bounds& bounds);

/// Whether the kernel addresses anything by an index from a tensor.
bool checks_indices(const KernelPlan& plan);

}  // namespace antegrad::codegen::cpu
