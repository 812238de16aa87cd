#pragma once
#include "codegen/cuda/kernel_plan.h"
#include "codegen/text/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cuda {

/// Prints the accumulators of a chunk, which is a block, as variables acc<section>_<op> or pointers of that
/// name.
void begin_accumulators(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping);
/// Prints what combines them over the threads of the block and stores them as results of the chunk.
void end_accumulators(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping,
                      const std::string& slots);

}  // namespace antegrad::codegen::cuda
