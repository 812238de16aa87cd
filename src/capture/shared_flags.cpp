#include "capture/shared_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"

namespace antegrad::capture {
namespace {

/// Returns the real tensor of each graph input; undefined for duplicates, and for views that are captured as
/// such, which share the state of their base.
std::vector<at::Tensor> tensors_of(const Trace& trace, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> tensors(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (trace.duplicate_of[i] >= 0) tensors[i] = at::Tensor();
  for (const auto& view : trace.views) tensors[view.input] = at::Tensor();
  for (const auto& lifted : trace.lifted) tensors.push_back(lifted.tensor);
  return tensors;
}

bool is_read(const Trace& trace, size_t input) {
  const auto value = trace.graph.inputs[input].value;
  return std::ranges::any_of(trace.graph.nodes, [&](const ir::Node& node) {
    bool found = false;
    ir::for_each_input(node, [&](ir::ValueId v) { found |= v == value; });
    return found;
  });
}

std::string name_of(const Trace& trace, size_t input) {
  if (input < trace.user_inputs) return fmt::format("argument {}", input);
  return fmt::format("a captured tensor ('{}')", trace.graph.inputs[input].name);
}

/// Returns whether autograd's state of `other` depends on requires_grad of the tensor that has changed.
bool follows(const at::Tensor& other, const at::Tensor& changed) {
  if (!other.defined()) return false;
  return other.is_same(changed) || (other.is_view() && other._base().is_same(changed));
}

}  // namespace

void check_shared_flags(const Trace& trace, const std::vector<at::Tensor>& inputs) {
  const auto tensors = tensors_of(trace, inputs);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& end = trace.inputs[i].end;
    if (!tensors[i].defined() || end.history_changed || end.requires_grad == end.required_grad) continue;
    for (size_t k = 0; k < tensors.size(); ++k)
      if (k != i && follows(tensors[k], tensors[i]) && is_read(trace, k))
        throw Error(ErrorCode::NeedsGrad, end.detached ? "capture:detach_" : "capture:requires_grad_",
                    fmt::format("the function changes requires_grad of {}, and uses {}, which is {}",
                                name_of(trace, i), name_of(trace, k),
                                tensors[k].is_same(tensors[i]) ? "the same tensor" : "a view of it"),
                    "Use it under one name only, or call requires_grad_() outside of the function, or set "
                    "Options::unsupported to Break");
  }
}

}  // namespace antegrad::capture
