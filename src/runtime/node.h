#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <vector>

#include "runtime/backward.h"
#include "runtime/rng_state.h"

namespace antegrad::runtime {

/// What a call does to the memory of an input, as far as higher-order derivatives are concerned.
enum class InputEffect : uint8_t {
  Kept,
  Detached,  ///< its history is taken off
  Written,   ///< a copy can stand in for its previous contents
  Lost,      ///< a copy cannot: it is a captured tensor, a leaf, or one of several that share memory
};

/// The autograd node of one call of a compiled function: the history of its results.
class CompiledBackward final : public torch::autograd::Node {
 public:
  /// `inputs`: the caller's, before the call writes to them.
  CompiledBackward(std::shared_ptr<const Backward> backward, c10::ArrayRef<at::Tensor> inputs);

  /// Makes this node the history of a tensor whose gradient is that tangent.
  void attach(const at::Tensor& tensor, int32_t tangent);
  /// Saves what the backward pass reads. Afterwards results and inputs belong to the user; writes to them are
  /// detected where eager would detect them. `fates`: per input; `written`: the inputs that the call writes.
  void save(c10::ArrayRef<at::Tensor> slots, const std::vector<at::Tensor>& results,
            const std::vector<InputEffect>& fates, const std::vector<int32_t>& written);
  /// Saves leaves that share their version with inputs which the call has written by now, in elements that
  /// are not the leaf's. A leaf cannot be saved as another tensor with a version of its own.
  void save_after_writes(c10::ArrayRef<at::Tensor> slots);

  at::Tensor generator;        ///< state of LibTorch's generator before the run, if the run draws from it
  GeneratorStates generators;  ///< of other generators that the run draws from, likewise

  torch::autograd::variable_list apply(torch::autograd::variable_list&& tangents) override;
  // For compiled autograd: the graph of this backward pass becomes part of a larger one.
  bool can_be_recorded() const { return passed_ == 0 && !backward_->identity().empty(); }
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& arguments) const override;
  torch::autograd::variable_list apply_with_saved(
      const torch::autograd::variable_list& tangents,
      torch::dynamo::autograd::SwapSavedVariables& saved) override;
  void will_release_variables() override;
  void release_variables() override;
  std::string name() const override { return "AntegradBackward"; }

 private:
  /// `tangents`: those that are defined, as bits.
  std::vector<at::Tensor> unpack_saved(uint64_t tangents = ~uint64_t{0});
  at::Tensor unpack_slot(size_t place) const;
  torch::autograd::variable_list run(torch::autograd::variable_list&& tangents);
  void let_go_after(uint64_t tangents);
  void let_go_of_saved();
  void withdraw_leaf_gradients();
  c10::SmallVector<bool, 16> wanted() const;
  void write(torch::autograd::variable_list& results) const;
  torch::autograd::variable_list apply_differentiably(const torch::autograd::variable_list& tangents);

  std::shared_ptr<const Backward> backward_;
  std::vector<torch::autograd::SavedVariable> kept_, saved_results_;
  c10::SmallVector<size_t, 2> saved_after_writes_;  ///< places in kept_
  std::vector<at::Tensor> late_;     ///< per kept slot; undefined unless it is in BackwardFacts::late
  std::vector<int32_t> lost_;        ///< primals whose contents are gone
  std::vector<at::Tensor> written_;  ///< inputs that the backward pass writes
  at::Tensor rng_state_;
  std::vector<c10::SymInt> symbols_;  ///< symbols of the graph, for passes that are captured at other sizes
  uint64_t passed_ = 0;               ///< tangents of earlier passes that did not retain the graph
  bool released_ = false;             ///< all saved tensors were released
  bool releasing_ = false;            ///< the current pass does not retain the graph
  bool let_go_ = false;               ///< the current pass has released what nobody can read after it
  uintptr_t leaf_gradients_ = 0;      ///< key of the LeafGradients hook, or 0
};

}  // namespace antegrad::runtime
