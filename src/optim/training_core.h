#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "antegrad/optim.h"
#include "optim/early_updates.h"
#include "optim/gradient_reduction.h"
#include "optim/shares.h"
#include "optim/stepper.h"

namespace antegrad::detail {

struct TrainingCore::Impl {
  optim::Stepper stepper;
  std::shared_ptr<optim::EarlyUpdates> early;
  std::optional<optim::Shares> shares;  ///< with DataParallel::shard_state
  /// Null in one process.
  std::shared_ptr<optim::GradientReduction> reduction;
  std::vector<at::Tensor> parameters;  ///< without duplicates
  /// Lists of parameters, with what calls multiply the loss by, that functions were compiled for. A list
  /// keeps no parameter alive, but its address is not used again.
  struct List {
    int64_t number = 0;
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> parameters;
    at::Tensor scale;
  };
  std::deque<List> lists;                                    ///< the newest last
  int64_t list = -1;                                         ///< the number of that of `parameters`
  std::vector<at::Tensor> accumulated;                       ///< per parameter
  std::vector<std::pair<at::Tensor, at::Tensor>> set_aside;  ///< the same of parameters that are frozen now
  std::vector<bool> had_gradients;                           ///< per parameter: the last call gave it one
  int64_t calls = 0;                                         ///< since the last update
  bool has_updated = false;                                  ///< the last call made a step

  Impl(torch::optim::Optimizer& optimizer, StepOptions options, std::shared_ptr<optim::UpdateCode> code)
      : stepper(optimizer, std::move(options), std::move(code)),
        early(std::make_shared<optim::EarlyUpdates>(stepper)) {
    if (const auto& how = this->options().data_parallel) {
      if (how->shard_state) shard(how->gradients.group);
      reduction = std::make_shared<optim::GradientReduction>(this->options(), shares ? &*shares : nullptr);
    }
  }
  void shard(const std::string& group);
  void update_reduced(const std::vector<at::Tensor>& gradients);
  /// Whether this call is followed by an update.
  bool is_last_call() const { return calls + 1 >= options().accumulate; }
  const StepOptions& options() const { return stepper.options(); }
  /// The parameters of the optimizer that require gradients, each once; and whether some are there twice.
  std::pair<std::vector<at::Tensor>, bool> trained_now() const;
  int64_t number_of(const std::vector<at::Tensor>& now, const at::Tensor& scale);
  void replace_parameters(std::vector<at::Tensor> now);
  /// Returns what has been accumulated and these gradients.
  std::vector<at::Tensor> sums_with(const std::vector<at::Tensor>& gradients) const;
  void update(const std::vector<at::Tensor>& gradients);
  /// Multiplies gradients by a number, and by a tensor unless it is undefined.
  void keep(optim::GradientOf gradient_of, double factor, const at::Tensor& unscale);
};

}  // namespace antegrad::detail
