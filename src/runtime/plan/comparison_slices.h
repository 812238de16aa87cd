#pragma once
#include <vector>

#include "schedule/program.h"

namespace antegrad::runtime {

/// What a step of a program reads and finishes, and which part of the graph it computes. To be asked in the
/// order of steps.
class ComparisonSlices {
 public:
  explicit ComparisonSlices(const schedule::Program& program);

  std::vector<ir::ValueId> reads(size_t step) const;
  /// The values that the step finishes. A value that several kernels write, a part each (a concatenation), is
  /// finished by the last of them. Memory without a value in the graph is left out.
  std::vector<ir::ValueId> finished(size_t step) const;
  /// Returns the nodes from what earlier steps have finished to these outputs.
  ir::Graph slice(const std::vector<ir::ValueId>& outputs) const;
  /// Marks values as finished.
  void finish(const std::vector<ir::ValueId>& values);

 private:
  const schedule::Program& program_;
  ir::PerValue<ir::NodeId> producer_;  ///< invalid for inputs
  ir::PerValue<bool> known_;           ///< an input, or made by an earlier step
  ir::PerValue<size_t> last_;          ///< the last step that writes to it
};

}  // namespace antegrad::runtime
