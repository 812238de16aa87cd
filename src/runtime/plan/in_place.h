#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "aot/signature/signature.h"
#include "schedule/program.h"

namespace antegrad::runtime {

/// A result of a graph that a call writes to one of its inputs.
struct InputWrite {
  int32_t output = 0;   ///< index in the graph's outputs
  int32_t input = 0;    ///< index in the graph's inputs
  std::string refused;  ///< why it must be copied, as far as the signature tells; empty when it need not be
};

/// What a call writes to its inputs.
struct InputWrites {
  std::vector<InputWrite> list;
  /// Something that may throw follows the run of the graph and precedes the first write: a history, saved
  /// tensors.
  bool deferred = false;
};
InputWrites input_writes(const aot::Signature& signature);

/// How a program writes to the memory of its inputs: its steps from `first` on cannot fail, and only they
/// write there.
struct InPlacePlan {
  struct Write {
    int32_t output = 0;
    int32_t input = 0;
    std::string copied_because;  ///< empty: kernels write to the memory of the input
    bool direct() const { return copied_because.empty(); }
  };
  std::vector<Write> writes;
  int32_t first = 0;      ///< the number of steps when nothing is written in place
  bool deferred = false;  ///< the steps from `first` on do nothing but write to inputs, and run later
  bool any() const;
};

/// Finds the results that kernels may write to the memory of inputs: nothing reads the old contents
/// afterwards, and nothing that may fail comes after the first write. Moves kernels that compute nothing else
/// to the end, and drops those that would copy an input to itself. The sizes of the program are constants;
/// `symbols`: the values of the symbols that kernels refer to.
InPlacePlan plan_in_place(const InputWrites& writes, const std::vector<int64_t>& symbols,
                          schedule::Program& program);

}  // namespace antegrad::runtime
