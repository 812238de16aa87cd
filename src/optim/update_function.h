#pragma once
#include <map>
#include <vector>

#include "antegrad/grad.h"
#include "optim/updates.h"

namespace antegrad::optim {

/// What a step does to all parameters, as a function of tensors that can be compiled.
struct UpdateFunction {
  std::vector<Formula> formulas;  ///< per parameter

  /// `states`: of all parameters, one after the other. `numbers`: f64[parameters, kNumbers].
  void operator()(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
                  const std::vector<at::Tensor>& states, const at::Tensor& numbers) const;
};

/// The numbers of updates as a tensor.
at::Tensor numbers_of(const std::vector<Update>& updates);

/// Makes the steps of methods that are not elementwise.
class CompiledUpdates {
 public:
  explicit CompiledUpdates(Options options);
  /// When it throws, nothing has changed.
  void run(const std::vector<Update>& updates);
  uint64_t captures() const;

 private:
  Options options_;
  std::map<std::vector<Formula>, antegrad::detail::WithoutHistory<UpdateFunction>> functions_;
};

}  // namespace antegrad::optim
