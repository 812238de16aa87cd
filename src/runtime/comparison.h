#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/executable.h"
#include "runtime/instructions.h"
#include "schedule/program.h"

namespace antegrad::runtime {

/// Holds what a kernel wrote against what LibTorch computes from the same values.
class Comparison {
 public:
  /// `nodes`: the part of the graph that the kernel stands for; its inputs and outputs are in registers.
  Comparison(std::string kernel, const ir::Graph& nodes, const RegisterMap& register_of);
  /// Throws Error(Internal) with the kernel, the nodes and the values that differ.
  void run(const Registers& registers) const;

 private:
  std::string kernel_;
  std::string text_;
  double tolerance_;
  std::vector<int32_t> inputs_, outputs_;
  Executable expected_;
};

/// Makes the comparisons of a program, step by step.
class ComparisonMaker {
 public:
  ComparisonMaker(const schedule::Program& program, const RegisterMap& register_of);
  /// Null where the step finishes nothing that the graph has a value for. What several kernels write, a part
  /// each (a concatenation), is compared after the last of them.
  std::unique_ptr<Comparison> next(size_t step);

 private:
  std::vector<ir::ValueId> finished_by(size_t step) const;
  ir::Graph slice(const std::vector<ir::ValueId>& outputs) const;

  const schedule::Program& program_;
  const RegisterMap& register_of_;
  std::vector<int32_t> producer_;  ///< by value: its node; -1: none
  std::vector<bool> known_;        ///< by value: an input, or made by an earlier step
  std::vector<size_t> last_;       ///< by value: the last step that writes to it
};

}  // namespace antegrad::runtime
