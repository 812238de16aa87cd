#pragma once
#include <vector>

#include "schedule/program.h"

namespace antegrad::schedule {

/// A program at sizes that change often: what depends on them is replaced in place, the rest is copied once.
class SizedProgram {
 public:
  /// `all_nodes`: nodes that are parts of kernels get sizes, too.
  SizedProgram(const Program& program, bool all_nodes);

  /// As substitute(). The next call changes the result.
  const Program& at(const std::vector<int64_t>& values);

 private:
  Program over_symbols_;  ///< without kernels
  Program program_;
  std::vector<ir::ValueId> values_;  ///< those whose types have symbols
  std::vector<ir::NodeId> nodes_;    ///< likewise, of those that get sizes
  std::vector<size_t> steps_;        ///< those that run kernels
};

}  // namespace antegrad::schedule
