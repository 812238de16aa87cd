#pragma once
#include <vector>

#include "program/operands.h"

// Branches and loops of a program as regions of the graph that is being captured (antegrad/control.h).
namespace antegrad::program {

/// Loops of at most so many turns, if their number is known while a function is captured, are written out, so
/// that their turns are fused with each other and with what is around them.
constexpr int64_t kMostWrittenOut = 8;

/// Whether this thread captures a function whose branches and loops may be regions. False where one is run in
/// parts, exported, or run op by op.
bool makes_regions();

bool are_tensors(const std::vector<Slot>& slots);
/// Whether an op of the graph, or of one inside of it, writes to a tensor.
bool has_writes(const Graph& graph);

std::vector<Slot> cond_region(const Operands& operands);
/// `carried`: what the loop starts from, or goes on with after turns that were written out.
std::vector<Slot> while_region(const Operands& operands, const std::vector<Slot>& carried);
std::vector<Slot> scan_region(const Operands& operands);
std::vector<Slot> map_region(const Operands& operands);

/// Adds to the report of the function that is being captured that a loop was written out.
void note_written_out(const Operands& operands, int64_t turns);

}  // namespace antegrad::program
