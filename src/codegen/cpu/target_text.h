#pragma once
// What a Reduce or an Accumulate is in C, in the order of the text: it begins before the loops that it
// combines over, combines in the innermost, and ends after them. Where those run in blocks, it begins and
// ends in each block too.
#include "codegen/cpu/names.h"
#include "codegen/cpu/writer.h"

namespace antegrad::codegen::cpu {

void begin_target(Writer& writer, Names& names, const SectionPlan& plan, const Target& target);
void begin_block(Writer& writer, Names& names, const SectionPlan& plan, const Target& target);
void combine_target(Writer& writer, Names& names, const SectionPlan& plan, const Target& target);
void end_block(Writer& writer, Names& names, const SectionPlan& plan, const Target& target);
void end_target(Writer& writer, Names& names, const SectionPlan& plan, const Target& target);

/// The type of an accumulator while its chunk runs; sums of floats are doubles.
ir::DType accumulator_type(const Names& names, const schedule::Op& op, const Target& target);

}  // namespace antegrad::codegen::cpu
