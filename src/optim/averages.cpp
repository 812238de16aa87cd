#include "optim/averages.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <unordered_map>

#include "antegrad/error.h"

namespace antegrad {

WeightAverage::WeightAverage(double decay) : decay(decay) {}

namespace optim {

Averages::Averages(const torch::optim::Optimizer& optimizer, std::shared_ptr<WeightAverage> average)
    : average_(std::move(average)), list_(average_->averages) {
  std::unordered_map<const void*, bool> seen;
  for (const auto& group : optimizer.param_groups())
    for (const auto& parameter : group.params())
      if (seen.emplace(parameter.unsafeGetTensorImpl(), true).second) parameters_.push_back(parameter);
  if (list_.size() > parameters_.size())
    throw Error(ErrorCode::InvalidArgument, "optimizer",
                fmt::format("there are {} averages for {} parameters", list_.size(), parameters_.size()),
                "Give each optimizer a WeightAverage of its own");
  list_.resize(parameters_.size());
  is_done_.resize(parameters_.size());
  weights_.assign(parameters_.size(), 1 - average_->decay);
  for (size_t i = 0; i < list_.size(); ++i) {
    const auto &mean = list_[i], &parameter = parameters_[i];
    if (!mean.defined() ||
        (mean.sizes() == parameter.sizes() && mean.scalar_type() == parameter.scalar_type() &&
         mean.device() == parameter.device() && !mean.requires_grad()))
      continue;
    throw Error(ErrorCode::InvalidArgument, "optimizer",
                fmt::format("average {} has sizes {} and type {}, and its parameter sizes {} and type {}", i,
                            c10::str(mean.sizes()), c10::toString(mean.scalar_type()),
                            c10::str(parameter.sizes()), c10::toString(parameter.scalar_type())),
                "Leave WeightAverage::averages empty, or load those of the same parameters; they require no "
                "gradients");
  }
}

void Averages::add_to(std::vector<Update>& updates) {
  const at::NoGradGuard no_grad;
  std::unordered_map<const void*, Update*> last;  // of the updates of a parameter
  std::unordered_map<const void*, int> sharing;   // parameters per storage
  for (auto& update : updates) last[update.parameter.unsafeGetTensorImpl()] = &update;
  for (const auto& parameter : parameters_)
    if (parameter.has_storage()) ++sharing[parameter.storage().unsafeGetStorageImpl()];
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto& parameter = parameters_[i];
    const auto found = last.find(parameter.unsafeGetTensorImpl());
    if (!list_[i].defined()) {
      weights_[i] = 1;
      list_[i] = torch::zeros_like(parameter, at::MemoryFormat::Preserve);
    }
    if (found == last.end()) continue;
    auto& update = *found->second;
    // Updates of parameters that share memory may come after this one.
    if (sharing[parameter.storage().unsafeGetStorageImpl()] > 1 || list_[i].strides() != parameter.strides())
      continue;
    update.formula.averages = true;
    update.numbers[kAverage] = weights_[i];
    update.state.push_back(list_[i]);
    update.state_writes[update.state.size() - 1] = 1;
    is_done_[i] = true;
  }
}

void Averages::finish() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (is_done_[i]) continue;
    if (list_[i].defined())
      list_[i].lerp_(parameters_[i], weights_[i]);
    else
      list_[i] = parameters_[i].clone();
  }
  average_->averages = std::move(list_);
}

}  // namespace optim
}  // namespace antegrad
