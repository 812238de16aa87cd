#include "optim/gradient_reduction.h"

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <limits>

#include "antegrad/error.h"
#include "distributed/groups.h"

namespace antegrad::optim {
namespace {

void refuse_gradient(const at::Tensor& gradient) {
  if (gradient.layout() == at::kStrided && gradient.device().is_cpu()) return;
  throw Error(
      ErrorCode::UnsupportedTensor, "training_step",
      fmt::format("a gradient of sizes {} is not a dense tensor on the CPU, and has to be reduced over "
                  "processes",
                  c10::str(gradient.sizes())),
      "Use layers without sparse gradients, and parameters on the CPU");
}

}  // namespace

GradientReduction::GradientReduction(const StepOptions& options, const Shares* shares)
    : options_(options),
      shares_(shares),
      processes_(at::scalar_tensor(options.data_parallel->gradients.size, at::kDouble)) {}

void GradientReduction::set_parameters(std::vector<at::Tensor> parameters,
                                       const std::vector<at::Tensor>& all) {
  parameters_ = std::move(parameters);
  agreed_on_.clear();
  planned_ = nullptr;
  executable_.reset();
  if (!options_.data_parallel->broadcast) return;
  auto tensors = all;
  for (const auto& module : options_.options.watch) {
    for (const auto& parameter : module->parameters()) tensors.push_back(parameter);
    for (const auto& buffer : module->buffers()) tensors.push_back(buffer);
  }
  std::vector<at::Tensor> added;
  for (const auto& tensor : tensors) {
    const auto is_same = [&](const at::Tensor& other) { return other.is_same(tensor); };
    if (tensor.defined() && std::ranges::none_of(synchronised_, is_same) &&
        std::ranges::none_of(added, is_same))
      added.push_back(tensor);
  }
  if (!added.empty()) take_from_first(added, options_.data_parallel->gradients);
  synchronised_.insert(synchronised_.end(), added.begin(), added.end());
}

void GradientReduction::start(const std::vector<at::Tensor>* sums) {
  if (broken_)
    throw Error(ErrorCode::Io, "training_step",
                fmt::format("an earlier call failed while gradients were communicated, and the processes of "
                            "group \"{}\" may be at different steps",
                            options_.data_parallel->gradients.group),
                "Join another group, and make the training step again");
  sums_ = sums;
  buckets_ = nullptr;
  error_ = nullptr;
}

bool GradientReduction::has_sum(size_t parameter) const {
  return parameter < sums_->size() && (*sums_)[parameter].defined();
}

void GradientReduction::find_buckets(std::vector<int64_t> order) {
  auto which = order;
  std::ranges::sort(which);
  auto found = agreed_on_.find(which);
  if (found == agreed_on_.end())
    found = agreed_on_
                .emplace(std::move(which), agree_on_buckets(options_, parameters_, std::move(order), shares_))
                .first;
  buckets_ = &found->second;
}

bool GradientReduction::begin(const runtime::Caller& caller, c10::ArrayRef<at::Tensor>) {
  if (sums_ == nullptr) return false;
  caller_ = &caller;
  if (executable_ != caller.shared_executable()) read(caller);
  if (!possible_) return false;
  std::vector<int64_t> order;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (origins_[i].result >= 0 || has_sum(i)) order.push_back(static_cast<int64_t>(i));
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return ready_[i]; });
  find_buckets(std::move(order));
  if (planned_ != buckets_) plan_stops();
  return !stops_.empty();
}

/// Finds the gradients among the outputs.
void GradientReduction::read(const runtime::Caller& caller) {
  executable_ = caller.shared_executable();
  planned_ = nullptr;
  possible_ = false;
  origins_ = runtime::output_origins(caller.signature());
  ready_.assign(parameters_.size(), 0);
  if (origins_.size() < parameters_.size()) return;
  const auto& times = *caller.executable().times();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto result = origins_[i].result;
    if (result == runtime::OutputOrigin::kUndefined) continue;
    if (result < 0) return;
    const auto& output = times.outputs[result];
    if (!output.own || output.first < 0) return;
    // Nothing is communicated before the last step that may fail or communicate itself.
    ready_[i] = std::max(output.last, times.last_failure) + 1;
  }
  possible_ = true;
}

void GradientReduction::plan_stops() {
  stops_.clear();
  started_.clear();
  int32_t step = 0;
  for (const auto& bucket : *buckets_) {
    for (auto i : bucket.parameters) step = std::max(step, ready_[i]);
    if (stops_.empty() || stops_.back().step != step) {
      stops_.emplace_back().step = step;
      started_.push_back(started_.empty() ? 0 : started_.back());
    }
    ++started_.back();
    for (auto i : bucket.parameters)
      if (const auto output = origins_[i].result; output >= 0) stops_.back().outputs.push_back(output);
  }
  planned_ = buckets_;
}

void GradientReduction::take(size_t stop, c10::ArrayRef<at::Tensor> tensors) {
  if (error_ != nullptr) return;
  try {
    size_t next = 0;
    while (running_.size() < started_[stop])
      start_bucket([&](size_t i) {
        return origins_[i].result < 0 ? at::Tensor() : caller_->make_output(origins_[i], tensors[next++]);
      });
  } catch (...) {
    error_ = std::current_exception();
  }
}

void GradientReduction::start_bucket(GradientAt gradient) {
  const at::NoGradGuard no_grad;
  const auto& bucket = (*buckets_)[running_.size()];
  const auto& how = options_.data_parallel->gradients;
  const auto& first = parameters_[bucket.parameters[0]];
  auto memory = at::empty({bucket.elements}, at::TensorOptions(first.scalar_type()));
  for_each_part(bucket, memory, [&](size_t i, at::Tensor part) {
    auto source = gradient(i);
    if (source.defined()) refuse_gradient(source);
    if (has_sum(i)) source = source.defined() ? at::add_out(part, source, (*sums_)[i]) : (*sums_)[i];
    if (how.average)
      at::div_out(part, source, processes_);
    else if (!source.is_same(part))
      part.copy_(source);
  });
  std::function<void()> wait = [] {};
  if (bucket.elements > 0) wait = distributed::start_sum(memory, how.group, bucket.owner);
  running_.push_back({std::move(memory), std::move(wait)});
}

std::vector<at::Tensor> GradientReduction::finish(const std::vector<at::Tensor>& gradients) {
  try {
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (buckets_ == nullptr) {
      std::vector<int64_t> order;  // the last parameters have the first gradients
      for (size_t i = parameters_.size(); i-- > 0;)
        if (gradients[i].defined() || has_sum(i)) order.push_back(static_cast<int64_t>(i));
      find_buckets(std::move(order));
    }
    while (running_.size() < buckets_->size()) start_bucket([&](size_t i) { return gradients[i]; });
    return wait_for_all();
  } catch (...) {
    abandon();
    throw;
  }
}

bool GradientReduction::has(const Bucket& bucket) const {
  return shares_ == nullptr || shares_->is_own(parameters_[bucket.parameters[0]]);
}

void GradientReduction::for_each_part(const Bucket& bucket, const at::Tensor& memory,
                                      c10::function_ref<void(size_t parameter, at::Tensor part)> f) const {
  int64_t position = 0;
  for (auto i : bucket.parameters) {
    const auto& parameter = parameters_[i];
    f(static_cast<size_t>(i), part_of(memory, position, parameter));
    position += parameter.numel();
  }
}

std::vector<at::Tensor> GradientReduction::wait_for_all() {
  std::vector<at::Tensor> all(parameters_.size());
  for (size_t b = 0; b < buckets_->size(); ++b) {
    auto& running = running_[b];
    running.wait();
    if (const auto& bucket = (*buckets_)[b]; has(bucket))
      for_each_part(bucket, running.memory, [&](size_t i, at::Tensor part) { all[i] = std::move(part); });
  }
  if (shares_ == nullptr) running_.clear();
  sums_ = nullptr;
  return all;
}

void GradientReduction::share_parameters(bool updated) {
  try {
    if (updated) exchange_parameters();
  } catch (const std::exception& error) {
    throw Error(ErrorCode::Io, "training_step",
                fmt::format("parameters were updated, but could not be exchanged: {}", error.what()),
                "Join another group, and continue from a checkpoint");
  }
  running_.clear();
}

/// The memory of gradients takes the parameters.
void GradientReduction::exchange_parameters() {
  const at::NoGradGuard no_grad;
  for (size_t b = 0; b < buckets_->size(); ++b) {
    const auto& bucket = (*buckets_)[b];
    if (bucket.elements == 0) continue;
    auto& running = running_[b];
    if (has(bucket))
      for_each_part(bucket, running.memory, [&](size_t i, at::Tensor part) { part.copy_(parameters_[i]); });
    running.wait =
        distributed::start_broadcast(running.memory, *bucket.owner, options_.data_parallel->gradients.group);
  }
  for (size_t b = 0; b < buckets_->size(); ++b) {
    auto& running = running_[b];
    running.wait();
    if (const auto& bucket = (*buckets_)[b]; !has(bucket))
      for_each_part(bucket, running.memory,
                    [&](size_t i, const at::Tensor& part) { parameters_[i].copy_(part); });
  }
}

void GradientReduction::abandon() {
  broken_ = broken_ || !running_.empty();
  running_.clear();
  sums_ = nullptr;
  error_ = nullptr;
}

}  // namespace antegrad::optim
