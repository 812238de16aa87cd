#pragma once
// The C text of a Reduce or an Accumulate: its variable is initialised before the loops that it combines
// over, updated in the innermost loop, and finished after the loops. When the loops run in blocks, there is
// also a variable per block.
#include "codegen/cpu/names.h"
#include "codegen/text/writer.h"

namespace antegrad::codegen::cpu {

void begin_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target);
void begin_block(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target);
void combine_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target);
void end_block(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target);
void end_target(Writer& writer, LaneNames& names, const SectionPlan& plan, const Target& target);

/// Returns the type of an accumulator while its chunk runs; sums of floats use double.
ir::DType accumulator_type(const LaneNames& names, const schedule::Op& op, const Target& target);

}  // namespace antegrad::codegen::cpu
