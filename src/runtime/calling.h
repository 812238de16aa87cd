#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "aot/signature/signature.h"
#include "runtime/backward.h"
#include "runtime/executable.h"
#include "runtime/node.h"

namespace antegrad::runtime {

/// Runs the steps of a signature: the only interpreter of the calling convention.
class Caller {
 public:
  /// `backward`: null when no result is differentiable.
  Caller(aot::Signature signature, std::shared_ptr<const Executable> executable,
         std::shared_ptr<const Backward> backward = nullptr);
  ~Caller();

  /// `inputs`: the user's tensors, then the lifted ones. Returns the user's outputs.
  std::vector<at::Tensor> call(c10::ArrayRef<at::Tensor> inputs) const;
  /// As call(), but releases each input after its last use.
  std::vector<at::Tensor> consume(std::vector<at::Tensor>&& inputs) const;

  const aot::Signature& signature() const { return signature_; }
  const std::shared_ptr<const Backward>& backward() const { return backward_; }
  const Executable& executable() const { return *executable_; }

 private:
  struct Prepared;
  struct State;
  struct StepRunner;
  void prepare_steps();
  const at::Tensor& get(const aot::Source& source, const State& state) const;
  void run_graph(State& state) const;
  std::vector<at::Tensor> run_steps(State& state) const;
  void attach(const aot::Attach& step, State& state) const;

  aot::Signature signature_;
  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<const Backward> backward_;
  std::vector<InputEffect> fates_;       ///< per input
  std::vector<int32_t> reshaped_;        ///< inputs that change their shape and get a history
  std::vector<Prepared> prepared_;       ///< per step
  std::vector<bool> slot_outlives_run_;  ///< per slot: a step after the run of the graph reads it
  bool plain_ = false;                   ///< nothing but a run with fresh outputs
};

}  // namespace antegrad::runtime
