#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/error_bound.h"
#include "runtime/executable.h"
#include "runtime/plan/placement.h"
#include "runtime/tensor_memory.h"
#include "schedule/program.h"

namespace antegrad::runtime {

/// Compares what the kernels of a program write with what LibTorch computes from the same values, and the
/// memory of every value with its contents when it was made. The run is not affected: whatever is needed of
/// it is copied.
class Comparison {
 public:
  Comparison(const schedule::Program& program, const Placement& placement);
  ~Comparison();

  /// Copies of what a run has made so far, by value.
  using Copies = ir::PerValue<at::Tensor>;
  Copies begin(const Registers& registers) const;
  /// Checks that what the step is about to read is what was made. Throws Error(Internal) with the value
  /// otherwise.
  void before(size_t step, const Registers& registers, const Copies& copies) const;
  /// Checks what the step has made. Throws Error(Internal) with the kernel, its nodes and the values that
  /// differ.
  void after(size_t step, const Registers& registers, Copies& copies) const;
  /// Checks that outputs are what was made.
  void end(const Registers& registers, const Copies& copies) const;

 private:
  struct Place;
  struct Step;
  Place place_of(ir::ValueId value, const Placement& placement) const;
  at::Tensor copy_of(ir::ValueId value, const at::Tensor& tensor, const Copies& copies) const;
  void check_memory(ir::ValueId value, const std::string& reader, const Registers& registers,
                    const Copies& copies) const;
  at::Tensor tensor_of(ir::ValueId value, const Registers& registers) const;

  ir::Graph graph_;
  bool copies_storages_ = false;
  ir::PerValue<Place> places_;
  std::vector<Step> steps_;
};

}  // namespace antegrad::runtime
