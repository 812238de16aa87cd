#pragma once
#include "compiler/regions/run.h"

namespace antegrad::compiler {

/// Calls the body without keeping what its backward pass reads: that pass calls the body again, with the
/// default generator in the state in which it was at the call. Tensors that the body uses without getting
/// them as operands receive gradients too.
Tensors run_checkpoint(const RegionBody& body, const Tensors& operands);

/// While it lives, the default generator for the CPU is in that state; afterwards, in the one from before.
class InState {
 public:
  explicit InState(const at::Tensor& state);
  ~InState();
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;

 private:
  at::Tensor before_;
};
at::Tensor generator_state();

}  // namespace antegrad::compiler
