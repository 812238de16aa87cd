#pragma once
#include <torch/optim/optimizer.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antegrad/optim.h"
#include "optim/update_code.h"
#include "package/state.h"
#include "package/step_record.h"

namespace antegrad::packaging {

/// Code of an optimizer's step that is in the file, or compiled anew.
class StoredUpdateCode final : public optim::UpdateCode {
 public:
  /// `functions`: as StepRecord::functions. `what` names the step in messages.
  StoredUpdateCode(std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights, std::string folder,
                   std::map<std::string, size_t> functions, std::string what, const Options& options);
  std::shared_ptr<const compiler::Lowered> flat(const std::string& graph_text) override;
  void run(const std::vector<optim::Update>& updates) override;
  void prepare(const std::vector<optim::Update>& updates) override { compiled_.prepare(updates); }
  uint64_t captures() const override { return compiled_.captures(); }
  void load_everything();

 private:
  VersionSet* function_for(const std::vector<optim::Formula>& formulas);

  const std::shared_ptr<CodeLoader> code_;
  const std::shared_ptr<Weights> weights_;
  const std::string folder_, what_;
  const std::map<std::string, size_t> counts_;
  std::map<std::string, std::unique_ptr<VersionSet>> functions_;
  optim::CompiledUpdateCode compiled_;
};

/// A training step of a package: loss and gradients from versions in the file, and an optimizer over its
/// weights. Not thread-safe, and weights must not be replaced during a call.
class Step {
 public:
  Step(StepInfo step_info, std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights);

  /// Returns what the function returned. Throws Error(InvalidArgument) if a weight is not given.
  c10::IValue call(const std::vector<c10::IValue>& arguments);
  /// These make the optimizer, which stays the same from then on.
  torch::optim::Optimizer& optimizer();
  detail::TrainingCore& core();
  /// Sets a hyperparameter of all groups. Throws Error(InvalidArgument) if there is none of that name.
  void set(const std::string& name, double value);

  VersionSet& versions() { return versions_; }
  bool is_used() const { return core_ != nullptr; }
  /// Returns the record of the step as it is now. Tensors of its state become weights.
  std::string record(NamedTensors& weights) const;
  void load_everything();

  const StepInfo info;

 private:
  void make();
  /// Makes the optimizer use the weights of now.
  void follow_weights();
  /// Makes the gradients accumulated so far the weights of their names.
  void show_sums();
  std::vector<at::Tensor> tensors_of(const std::vector<int32_t>& weights) const;

  const std::shared_ptr<CodeLoader> code_;
  const std::shared_ptr<Weights> weights_;
  VersionSet versions_;
  StepRecord record_;
  // The weights that the optimizer has.
  uint64_t generation_ = 0;
  std::vector<at::Tensor> bound_;
  at::Tensor scale_;  ///< of the scaler
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::unique_ptr<detail::TrainingCore> core_;
};

}  // namespace antegrad::packaging
