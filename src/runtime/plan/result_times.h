#pragma once
#include <cstdint>
#include <vector>

#include "schedule/program.h"

namespace antegrad::runtime {

/// When a program uses the memory of its inputs and outputs, in steps. For callers that take outputs before
/// the end of a run, and write to inputs.
struct ResultTimes {
  struct Output {
    bool own = false;    ///< it has memory of its own, which no other output and no input shares
    int32_t first = -1;  ///< the first step that writes it; -1 if none does
    int32_t last = -1;   ///< the last step that reads or writes it
    ir::DType dtype = ir::DType::F32;
    std::vector<int64_t> sizes, strides;
  };
  std::vector<Output> outputs;
  std::vector<int32_t> last_reads;  ///< per input: the last step that reads its memory; -1 if none does
  /// The last step that may throw because of the data it reads; -1 if there is none. Any step may throw when
  /// there is no memory.
  int32_t last_failure = -1;
};

/// The sizes of the program are constants; `symbols`: the values of the symbols that kernels refer to.
ResultTimes result_times(const schedule::Program& program, const std::vector<int64_t>& symbols);

}  // namespace antegrad::runtime
