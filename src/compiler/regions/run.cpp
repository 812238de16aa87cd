#include "compiler/regions/run.h"

#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>

#include "antegrad/error.h"
#include "compiler/regions/checkpoint.h"

namespace antegrad::compiler {
namespace {

bool holds(const at::Tensor& condition, const char* region) {
  if (condition.numel() != 1)
    throw Error(ErrorCode::InvalidArgument, region,
                fmt::format("the condition has {} elements", condition.numel()),
                "Make it a tensor of one element, with any() or all()");
  return condition.item().toBool();
}

Tensors joined(Tensors a, Tensors::const_iterator begin, Tensors::const_iterator end) {
  a.insert(a.end(), begin, end);
  return a;
}

Tensors run_while_loop(const Region& region, const std::vector<RegionBody>& bodies, const Tensors& operands) {
  const auto others = operands.begin() + region.carried;
  Tensors carried(operands.begin(), others);
  while (true) {
    const auto arguments = joined(carried, others, operands.end());
    const auto condition = bodies[0](arguments);
    if (condition.size() != 1)
      throw Error(ErrorCode::InvalidArgument, "while_loop", "the condition should be one tensor");
    if (!holds(condition[0], "while_loop")) return carried;
    carried = bodies[1](arguments);
  }
}

/// Also map, which carries nothing.
Tensors run_scan(const Region& region, const std::vector<RegionBody>& bodies, const Tensors& operands) {
  const auto lists = operands.begin() + region.carried, others = lists + region.sliced;
  Tensors carried(operands.begin(), lists);
  const auto turns = lists->size(0);
  std::vector<Tensors> stacks;
  for (int64_t turn = 0; turn < turns; ++turn) {
    auto arguments = carried;
    for (auto list = lists; list != others; ++list) arguments.push_back(list->select(0, turn));
    const auto results = bodies[0](joined(std::move(arguments), others, operands.end()));
    carried.assign(results.begin(), results.begin() + region.carried);
    stacks.resize(results.size() - region.carried);
    for (size_t k = 0; k < stacks.size(); ++k) stacks[k].push_back(results[region.carried + k]);
  }
  for (const auto& stack : stacks) carried.push_back(at::stack(stack));
  return carried;
}

/// Operands of a derivative as tensors of their own: the backward pass inside ends at them, also where one is
/// computed from another.
at::Tensor boundary(const at::Tensor& operand, bool wanted) {
  if (!is_differentiable(operand)) return operand;
  if (operand.requires_grad()) return operand.view_as(operand);
  return wanted ? operand.detach().requires_grad_() : operand;
}

Tensors run_level(const Region& region, const std::vector<RegionBody>& bodies, size_t level,
                  const Tensors& operands) {
  if (level == 0) return run_region(region, bodies, operands);
  const auto& derivative = region.derivatives[level - 1];
  const bool create_graph = c10::GradMode::is_enabled();
  const c10::AutoGradMode grad_mode(true);
  const auto count = operands.size() - derivative.results.size();
  std::vector<bool> wanted(count);
  for (auto i : derivative.operands) wanted[i] = true;
  Tensors own, inputs, results;
  for (size_t i = 0; i < count; ++i) own.push_back(boundary(operands[i], wanted[i]));
  for (auto i : derivative.operands) inputs.push_back(own[i]);
  const auto all = run_level(region, bodies, level - 1, own);
  for (auto k : derivative.results) results.push_back(all[k]);
  return gradients_of(results, inputs,
                      Tensors(operands.begin() + static_cast<ptrdiff_t>(count), operands.end()),
                      create_graph);
}

}  // namespace

bool is_differentiable(const at::Tensor& tensor) { return tensor.is_floating_point() || tensor.is_complex(); }

Tensors gradients_of(const Tensors& results, const Tensors& inputs, const Tensors& tangents,
                     bool create_graph) {
  Tensors from, incoming, to;
  std::vector<size_t> places;
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].defined() || !results[k].requires_grad()) continue;
    from.push_back(results[k]);
    incoming.push_back(tangents[k]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    to.push_back(inputs[i]);
    places.push_back(i);
  }
  Tensors gradients(inputs.size());
  if (from.empty() || to.empty()) return gradients;
  const auto found = torch::autograd::grad(from, to, incoming, true, create_graph, true);
  for (size_t i = 0; i < places.size(); ++i) gradients[places[i]] = found[i];
  return gradients;
}

Tensors run_region(const Region& region, const std::vector<RegionBody>& bodies, const Tensors& operands) {
  switch (region.kind) {
    case RegionKind::Cond:
      return bodies[holds(operands[0], "cond") ? 0 : 1](Tensors(operands.begin() + 1, operands.end()));
    case RegionKind::WhileLoop:
      return run_while_loop(region, bodies, operands);
    case RegionKind::Scan:
    case RegionKind::Map:
      return run_scan(region, bodies, operands);
    case RegionKind::Checkpoint:
      return run_checkpoint(bodies[0], operands);
    case RegionKind::Call:
      break;
  }
  return bodies[0](operands);
}

Tensors run_derivatives(const Region& region, const std::vector<RegionBody>& bodies, Tensors operands) {
  std::optional<InState> in_state;
  if (region.takes_state()) {
    in_state.emplace(operands.front());
    operands.erase(operands.begin());
  }
  return run_level(region, bodies, region.derivatives.size(), operands);
}

}  // namespace antegrad::compiler
