#pragma once
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace antegrad::compiler {

/// Two different expressions, of a version's graph and of what its forward pass records, that had the same
/// value at all sizes so far. They were solved for from different samples: at other sizes one of them may be
/// wrong.
struct Rivals {
  ir::Arg of_version, of_forward;
};

/// Returns the expressions over symbols in a graph: those of sizes, strides, offsets and arguments, each
/// once.
std::vector<ir::Arg> expressions_in(const ir::Graph& graph);

/// `of_version`: the expressions in its graph. `samples`: the values of all symbols, per sample.
std::vector<Rivals> find_rivals(const std::vector<ir::Arg>& of_version, const ir::Graph& forward,
                                const std::vector<std::vector<int64_t>>& samples);

/// Whether all of them have the same value here, too.
bool agree(const std::vector<Rivals>& rivals, const std::vector<int64_t>& values);

}  // namespace antegrad::compiler
