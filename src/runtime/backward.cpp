#include "runtime/backward.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>

#include "capture/convert.h"
#include "capture/guards.h"
#include "passes/dead_code.h"
#include "passes/undefined_tangents.h"

namespace antegrad::runtime {

TangentType::TangentType(const ir::TensorType& type)
    : options(capture::options_of(type)),
      sizes(capture::constants(type.sizes)),
      strides(capture::constants(type.strides)),
      symbolic_sizes(sizes.begin(), sizes.end()) {}

Backward::Backward(const partition::Partition& partition, const aot::Signature& signature,
                   BackwardFacts facts)
    : graph_(partition.backward),
      gradients_(signature.gradients),
      writes_(signature.backward_writes),
      facts_(std::move(facts)) {
  for (const auto& saved : partition.saved)
    if (saved.input >= 0) kept_slots_.push_back(signature.graph_inputs[static_cast<size_t>(saved.input)]);
  saved_slots_ = kept_slots_.size();
  size_t next_slot = 0;
  for (const auto& saved : partition.saved) {
    place_of_input_.push_back(saved.input >= 0 ? next_slot++ : saved_slots_ + saved_results_.size());
    if (saved.output >= 0) saved_results_.push_back(saved.output);
  }
  if (facts_.higher_order)
    for (auto primal : facts_.primals)
      if (std::find(kept_slots_.begin(), kept_slots_.end(), primal) == kept_slots_.end())
        kept_slots_.push_back(primal);
  for (const auto& input : graph_.inputs)
    if (input.role == ir::InputRole::Tangent) tangent_types_.emplace_back(graph_.tensor_type(input.value));
}

void Backward::compile() const {
  executable({std::vector<bool>(gradients_.size(), true), std::vector<bool>(tangent_types_.size(), true)});
}

std::shared_ptr<const Executable> Backward::executable(const Case& which) const {
  std::scoped_lock lock(mutex_);
  auto& slot = executables_[which];
  if (slot) return slot;
  auto graph = graph_;
  for (size_t i = 0; i < which.wanted.size(); ++i)
    if (!which.wanted[i]) graph.outputs[i].value = {};
  std::vector<bool> reached(graph.outputs.size(), true);
  for (size_t i = 0; i < facts_.reached_by.size(); ++i) {
    reached[i] = false;
    for (size_t k = 0; k < which.defined.size(); ++k)
      reached[i] = reached[i] || (which.defined[k] && facts_.reached_by[i][k]);
  }
  passes::drop_undefined_tangents(graph, which.defined, reached);
  passes::dead_code(graph);
  return slot = std::make_shared<const Executable>(graph);
}

void Backward::check(const std::vector<at::Tensor>& tangents, const std::vector<bool>& wanted) const {
  for (size_t k = 0; k < tangents.size(); ++k) {
    if (!tangents[k].defined() || !facts_.errors[k]) continue;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] && facts_.fails_for[i][k]) std::rethrow_exception(facts_.errors[k]);
  }
}

/// A gradient as the graph expects it: of the strides it was captured for, without lazy bits.
at::Tensor Backward::fit(const at::Tensor& tangent, size_t index) const {
  const auto& type = tangent_types_[index];
  if (!tangent.defined()) return tangent;
  const auto plain = tangent.resolve_conj().resolve_neg();
  if (plain.strides() == at::IntArrayRef(type.strides)) return plain;
  return at::empty_strided(type.sizes, type.strides, plain.options()).copy_(plain);
}

std::vector<at::Tensor> Backward::run(std::vector<at::Tensor> saved, std::vector<at::Tensor> tangents,
                                      const std::vector<bool>& wanted) const {
  Case which{wanted, {}};
  for (const auto& tangent : tangents) which.defined.push_back(tangent.defined());
  const auto code = executable(which);
  std::vector<at::Tensor> inputs;
  inputs.reserve(graph_.inputs.size());
  {
    capture::BelowRecording below;
    for (auto place : place_of_input_) inputs.push_back(std::move(saved[place]));
    for (size_t k = 0; k < tangents.size(); ++k) inputs.push_back(fit(tangents[k], k));
  }
  saved.clear();
  tangents.clear();
  std::vector<at::Tensor> gradients;
  code->run(std::move(inputs), gradients);
  return gradients;
}

}  // namespace antegrad::runtime
