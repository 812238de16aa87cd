#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/program.h"

namespace antegrad::runtime {

/// What is needed to raise the error of an index that a kernel found to be out of range: the nodes that take
/// indices, and those that compute them. Everything else that these nodes read may be any memory of its type.
struct IndexChecks {
  ir::Graph graph;              ///< has no outputs
  std::vector<int32_t> inputs;  ///< per input: which input of the program it is; -1 for any memory
};

using IndexChecksPtr = std::shared_ptr<const IndexChecks>;

/// Returns null where no kernel may fail.
IndexChecksPtr index_checks(const schedule::Program& program);

}  // namespace antegrad::runtime
