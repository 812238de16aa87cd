#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <memory>
#include <vector>

#include "runtime/backward.h"

namespace antegrad::runtime {

/// The history of the results of one call of a compiled function.
class CompiledBackward final : public torch::autograd::Node {
 public:
  /// `inputs`: the caller's, as they are before the call writes to them.
  CompiledBackward(std::shared_ptr<const Backward> backward, c10::ArrayRef<at::Tensor> inputs);

  /// Makes it the history of a tensor whose gradient is that tangent.
  void attach(const at::Tensor& tensor, int32_t tangent);
  at::Tensor generator;  ///< the state of LibTorch's generator before the run, where the run draws from it

  /// Keeps what the backward pass reads. Afterwards results and inputs belong to the user: writing to one of
  /// them is noticed where eager would notice.
  void save(c10::ArrayRef<at::Tensor> slots, const std::vector<at::Tensor>& results,
            const std::vector<int32_t>& written, int32_t user_inputs);

  torch::autograd::variable_list apply(torch::autograd::variable_list&& tangents) override;
  void will_release_variables() override { releasing_ = true; }
  void release_variables() override;
  std::string name() const override { return "AntegradBackward"; }

 private:
  std::vector<at::Tensor> unpack_saved();
  torch::autograd::variable_list apply_differentiably(const torch::autograd::variable_list& tangents);

  std::shared_ptr<const Backward> backward_;
  std::vector<torch::autograd::SavedVariable> saved_inputs_, saved_results_;
  std::vector<torch::autograd::SavedVariable> primals_;
  at::Tensor rng_state_;
  std::vector<bool> lost_;  ///< per primal: the call wrote to it, and what it was before is gone
  bool releasing_ = false;  ///< the engine will not come back
};

}  // namespace antegrad::runtime
