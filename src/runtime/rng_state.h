#pragma once
#include <ATen/core/Tensor.h>

namespace antegrad::runtime {

/// Returns the state for one call of a graph with an input of role RngState: i64[2], a seed drawn from
/// LibTorch's default CPU generator (so torch::manual_seed makes it reproducible) and the offset 0. Runs
/// below autograd and recording.
at::Tensor take_rng_state();

/// Returns the state of LibTorch's default CPU generator, from which random ops that are not fused draw.
at::Tensor generator_state();
void set_generator_state(const at::Tensor& state);

/// While it lives, this thread draws the numbers of an earlier run again: take_rng_state() returns that run's
/// state, and the default generator is set to where it was. Either may be undefined.
class RngReplay {
 public:
  RngReplay(at::Tensor state, const at::Tensor& generator);
  ~RngReplay();
  RngReplay(const RngReplay&) = delete;
  RngReplay& operator=(const RngReplay&) = delete;

 private:
  at::Tensor outer_state_;
  at::Tensor generator_before_;
};

}  // namespace antegrad::runtime
