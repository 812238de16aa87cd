#pragma once
#include <map>
#include <string>
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
/// The formulas of updates, and a name for such a list, the same in every process.
std::vector<Formula> formulas_of(const std::vector<Update>& updates);
std::string folder_name(const std::vector<Formula>& formulas);

/// Makes the steps of methods that are not elementwise.
class CompiledUpdates {
 public:
  explicit CompiledUpdates(Options options);
  /// When it throws, nothing has changed.
  void run(const std::vector<Update>& updates);
  /// Compiles what run() would run, unless it has been compiled: runs it on copies.
  void prepare(const std::vector<Update>& updates);
  uint64_t captures() const;
  /// The functions, by the formulas of the parameters.
  const auto& functions() const { return functions_; }

  /// What a function is called with.
  struct Arguments {
    explicit Arguments(const std::vector<Update>& updates);
    std::vector<at::Tensor> parameters, gradients, states;
    at::Tensor numbers;
  };

 private:
  using Compiled = antegrad::detail::WithoutHistory<UpdateFunction>;
  const Compiled& function_for(const std::vector<Update>& updates);

  Options options_;
  std::map<std::vector<Formula>, Compiled> functions_;
};

}  // namespace antegrad::optim
