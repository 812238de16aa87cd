#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <vector>

#include "runtime/backward.h"

namespace antegrad::runtime {

/// What a call does to the memory of an input, as far as derivatives of higher order care.
enum class Fate : uint8_t {
  Kept,
  Written,  ///< what it was before can be stood in for by a copy
  Lost,     ///< it cannot: a captured tensor, a leaf, or one of several that share memory
};

/// The history of the results of one call of a compiled function.
class CompiledBackward final : public torch::autograd::Node {
 public:
  /// `inputs`: the caller's, as they are before the call writes to them.
  CompiledBackward(std::shared_ptr<const Backward> backward, c10::ArrayRef<at::Tensor> inputs);

  /// Makes it the history of a tensor whose gradient is that tangent.
  void attach(const at::Tensor& tensor, int32_t tangent);
  /// Keeps what the backward pass reads. Afterwards results and inputs belong to the user: writing to one of
  /// them is noticed where eager would notice. `fates`: per input; `written`: the inputs that the call
  /// writes.
  void save(c10::ArrayRef<at::Tensor> slots, const std::vector<at::Tensor>& results,
            const std::vector<Fate>& fates, const std::vector<int32_t>& written);

  at::Tensor generator;  ///< the state of LibTorch's generator before the run, where the run draws from it

  torch::autograd::variable_list apply(torch::autograd::variable_list&& tangents) override;
  // For compiled autograd: the graph of this backward pass becomes part of a larger one.
  bool can_be_recorded() const { return !backward_->identity().empty(); }
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& arguments) const override;
  torch::autograd::variable_list apply_with_saved(
      const torch::autograd::variable_list& tangents,
      torch::dynamo::autograd::SwapSavedVariables& saved) override;
  void will_release_variables() override;
  void release_variables() override;
  std::string name() const override { return "AntegradBackward"; }

 private:
  std::vector<at::Tensor> unpack_saved();
  at::Tensor unpack_slot(size_t place) const;
  torch::autograd::variable_list run(torch::autograd::variable_list&& tangents);
  void let_go_of_saved();
  void withdraw_leaf_gradients();
  c10::SmallVector<bool, 16> wanted() const;
  void write(torch::autograd::variable_list& results) const;
  torch::autograd::variable_list apply_differentiably(const torch::autograd::variable_list& tangents);

  std::shared_ptr<const Backward> backward_;
  std::vector<torch::autograd::SavedVariable> kept_, saved_results_;
  std::vector<at::Tensor> late_;     ///< per kept slot: BackwardFacts::late; undefined for others
  std::vector<int32_t> lost_;        ///< primals that are gone
  std::vector<at::Tensor> written_;  ///< inputs that the backward pass writes
  at::Tensor rng_state_;
  std::vector<c10::SymInt> symbols_;  ///< of the graph, for passes that are captured at other sizes
  bool released_ = false;             ///< what was kept is gone
  bool releasing_ = false;            ///< the engine will not come back
  uintptr_t leaf_gradients_ = 0;      ///< the hook that stands in for the engine's visits of leaves; 0: none
};

}  // namespace antegrad::runtime
