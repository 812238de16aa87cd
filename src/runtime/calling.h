#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "aot/signature/signature.h"
#include "runtime/backward.h"
#include "runtime/executable.h"
#include "runtime/node.h"
#include "runtime/output_origins.h"

namespace antegrad::runtime {

class Caller;

/// Takes results of calls before they end.
class EarlyResults : public EarlyTaker {
 public:
  /// Called before the graph runs. Returns whether this call has stops(). When it throws, so does the call.
  virtual bool begin(const Caller& caller, c10::ArrayRef<at::Tensor> inputs) = 0;
};

/// Runs the steps of a signature: the only interpreter of the calling convention.
class Caller {
 public:
  /// `backward`: null when no result is differentiable. `constants`: the last inputs of the graph, after
  /// those that the signature names.
  Caller(aot::Signature signature, std::shared_ptr<const Executable> executable,
         std::shared_ptr<const Backward> backward = nullptr, std::vector<at::Tensor> constants = {});
  ~Caller();

  /// `inputs`: the user's tensors, then the lifted ones. Returns the user's outputs; those that `early` has
  /// taken are undefined.
  std::vector<at::Tensor> call(c10::ArrayRef<at::Tensor> inputs, EarlyResults* early = nullptr) const;
  /// As call(), but releases each input after its last use.
  std::vector<at::Tensor> consume(std::vector<at::Tensor>&& inputs, EarlyResults* early = nullptr) const;

  const aot::Signature& signature() const { return signature_; }
  const std::shared_ptr<const Backward>& backward() const { return backward_; }
  const Executable& executable() const { return *executable_; }
  const std::shared_ptr<const Executable>& shared_executable() const { return executable_; }
  /// Makes an output of the user from the output of the graph that it comes from.
  at::Tensor make_output(const OutputOrigin& origin, at::Tensor result) const;

 private:
  struct Prepared;
  struct State;
  struct StepRunner;
  void prepare_steps();
  const at::Tensor& get(const aot::Source& source, const State& state) const;
  void run_graph(State& state) const;
  /// Returns `early`, ready for this call, or null.
  EarlyTaker* begin(EarlyResults* early, c10::ArrayRef<at::Tensor> inputs) const;
  std::vector<at::Tensor> run_steps(State& state) const;
  void attach(const aot::Attach& step, State& state) const;

  aot::Signature signature_;
  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<const Backward> backward_;
  std::vector<at::Tensor> constants_;
  std::vector<InputEffect> fates_;       ///< per input
  std::vector<int32_t> reshaped_;        ///< inputs that change their shape and get a history
  std::vector<Prepared> prepared_;       ///< per step
  std::vector<bool> slot_outlives_run_;  ///< per slot: a step after the run of the graph reads it
  bool plain_ = false;                   ///< nothing but a run with fresh outputs
};

}  // namespace antegrad::runtime
