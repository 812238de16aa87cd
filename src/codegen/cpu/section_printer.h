#pragma once
#include <map>
#include <string>
#include <utility>

#include "codegen/cpu/names.h"
#include "codegen/cpu/writer.h"

namespace antegrad::codegen::cpu {

/// First and last + 1 of loops that do not run over their whole extent.
using Bounds = std::map<int32_t, std::pair<std::string, std::string>>;

/// The loops and statements of one section. Variables that exist around it: those of the outer loops, `first`
/// and the number `n` of lanes in a kernel with lanes, `bad`, `begin` and `end`, accumulators.
void print_section(Writer& writer, Names& names, const SectionPlan& plan, const Bounds& bounds);

/// Whether anything in the kernel is read at an index from a tensor.
bool checks_indices(const KernelPlan& plan);

}  // namespace antegrad::codegen::cpu
