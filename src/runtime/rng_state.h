#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <mutex>
#include <utility>
#include <vector>

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

/// Tensors that stand for generators (aten/generators.h), each with the state of its generator at a call.
using GeneratorStates = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// The generators from which a call draws, locked for as long as it lives.
class TakenGenerators {
 public:
  explicit TakenGenerators(const std::vector<at::Tensor>& stand_ins);
  TakenGenerators(const TakenGenerators&) = delete;
  TakenGenerators& operator=(const TakenGenerators&) = delete;

  const GeneratorStates& states() const { return states_; }
  /// Sets the generator that was in state `before`, one of states().
  void set(const at::Tensor& before, const at::Tensor& state) const;

 private:
  GeneratorStates states_;
  std::vector<at::Generator> generators_;  ///< undefined where the state is that of an earlier call
  std::vector<std::unique_lock<std::mutex>> locks_;
};

/// While it lives, calls of this thread draw from generators in these states, and leave the generators alone.
class GeneratorReplay {
 public:
  explicit GeneratorReplay(GeneratorStates states);
  ~GeneratorReplay();
  GeneratorReplay(const GeneratorReplay&) = delete;
  GeneratorReplay& operator=(const GeneratorReplay&) = delete;

 private:
  GeneratorStates outer_;
};

}  // namespace antegrad::runtime
