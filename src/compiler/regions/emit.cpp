#include "compiler/regions/emit.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "capture/mode.h"
#include "compiler/regions/checkpoint.h"
#include "compiler/regions/code.h"

namespace antegrad::compiler {
namespace {

namespace impl = torch::autograd::impl;
using torch::autograd::Node;
using torch::autograd::variable_list;
using RegionPtr = std::shared_ptr<const Region>;

bool is_floating(const ir::TensorType& type) {
  return ir::is_floating(type.dtype) || ir::is_complex(type.dtype);
}

/// The type of a tensor that holds a gradient of `tensor`, on memory of its own.
ir::TensorType own_type(const at::Tensor& tensor) {
  auto type = aten::type_of(tensor, tensor.device());
  if (!tensor.is_non_overlapping_and_dense())
    type = ir::contiguous_tensor(type.dtype, type.sizes, type.device);
  type.offset = 0;
  return type;
}

/// Whether elements share memory, as those of an expanded tensor do.
bool overlaps(const ir::TensorType& type) {
  for (size_t d = 0; d < type.sizes.size(); ++d)
    if (type.strides[d] == ir::Dim(0) && !(type.sizes[d] == ir::Dim(1))) return true;
  return false;
}

/// The type of a result of a body, each element of which has memory of its own; of cond, row-major where the
/// branches differ in strides.
ir::TensorType result_type(const Region& region, size_t body, size_t k) {
  const auto& graph = *region.bodies[body];
  auto type = graph.tensor_type(graph.outputs[k].value);
  type.offset = 0;
  if (overlaps(type)) type = ir::contiguous_tensor(type.dtype, type.sizes, type.device);
  if (region.kind != RegionKind::Cond) return type;
  const auto& other = *region.bodies[1];
  return other.tensor_type(other.outputs[k].value).strides == type.strides
             ? type
             : ir::contiguous_tensor(type.dtype, type.sizes, type.device);
}

ir::TensorType stacked(const ir::TensorType& type, const at::Tensor& list) {
  auto sizes = type.sizes;
  sizes.insert(sizes.begin(), ir::Dim(list.size(0)));
  return ir::contiguous_tensor(type.dtype, std::move(sizes), type.device);
}

std::vector<ir::TensorType> result_types(const Region& region, const Tensors& operands) {
  std::vector<ir::TensorType> types;
  if (!region.derivatives.empty()) {
    const size_t first = region.takes_state() ? 1 : 0;
    for (auto i : region.derivatives.back().operands) types.push_back(own_type(operands[first + i]));
    return types;
  }
  const size_t body = region.kind == RegionKind::WhileLoop ? 1 : 0;
  for (size_t k = 0; k < region.bodies[body]->outputs.size(); ++k) {
    auto type = result_type(region, body, k);
    const bool is_carried = std::cmp_less(k, region.carried);
    if (is_carried) type = own_type(operands[k]);
    if (!is_carried && region.sliced > 0) type = stacked(type, operands[region.carried]);
    types.push_back(std::move(type));
  }
  return types;
}

/// Which operands each result has a gradient for.
std::vector<std::vector<bool>> reached(const Region& region, size_t results, const Tensors& operands) {
  std::vector<std::vector<bool>> out(results,
                                     std::vector<bool>(operands.size(), !region.derivatives.empty()));
  if (region.takes_state())
    for (auto& row : out) row[0] = false;
  if (region.derivatives.empty())
    for (size_t k = 0; k < results; ++k)
      for (auto i : region.reached[k]) out[k][i] = true;
  return out;
}

struct RegionBackward final : Node {
  RegionPtr region;
  std::vector<torch::autograd::SavedVariable> operands;
  std::vector<ir::TensorType> types;  ///< of gradients, per operand
  std::vector<bool> wanted;           ///< per operand
  at::Tensor session, state;

  variable_list apply(variable_list&& tangents) override {
    auto* recorder = capture::active_recorder();
    if (recorder == nullptr)
      throw Error(ErrorCode::Internal, "region", "a history of a capture is used outside of it");
    RegionDerivative derivative;
    Tensors defined;
    for (size_t k = 0; k < tangents.size(); ++k) {
      if (!tangents[k].defined()) continue;
      derivative.results.push_back(static_cast<int64_t>(k));
      defined.push_back(tangents[k]);
    }
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] && task_should_compute_output(i)) derivative.operands.push_back(static_cast<int64_t>(i));
    variable_list gradients(wanted.size());
    if (defined.empty() || derivative.operands.empty()) return gradients;
    const auto found = c10::GradMode::is_enabled() ? derive(*recorder, derivative, defined)
                                                   : step_back(*recorder, derivative, defined);
    for (size_t n = 0; n < found.size(); ++n) gradients[derivative.operands[n]] = found[n];
    return gradients;
  }

  /// By what the region has kept.
  Tensors step_back(capture::Recorder& recorder, const RegionDerivative& derivative,
                    const Tensors& tangents) const {
    std::vector<ir::ValueId> values;
    for (const auto& tangent : tangents) values.push_back(recorder.value_of(tangent));
    std::vector<ir::TensorType> results;
    for (auto i : derivative.operands) results.push_back(types[i]);
    return recorder.add_own(backward_node(recorder.value_of(session), values, derivative), results);
  }

  /// As a region that computes everything again, without effects, so that it has derivatives of its own.
  Tensors derive(capture::Recorder& recorder, RegionDerivative derivative, const Tensors& tangents) {
    Tensors all;
    for (const auto& operand : operands) all.push_back(operand.unpack());
    auto next = std::make_shared<Region>(without_effects(*region));
    const int64_t shift = region->takes_state() ? 1 : 0;
    if (region->random && region->derivatives.empty()) all.insert(all.begin(), state);
    for (auto& i : derivative.operands) i -= shift;
    next->derivatives.push_back(std::move(derivative));
    all.insert(all.end(), tangents.begin(), tangents.end());
    return emit_region(recorder, next, all);
  }

  std::string name() const override { return "AntegradRegion"; }
  bool is_traceable() override { return true; }
  void release_variables() override {
    for (auto& operand : operands) operand.reset_data();
  }
};

void give_histories(const std::shared_ptr<RegionBackward>& node, const std::vector<bool>& needs,
                    Tensors& results) {
  for (size_t k = 0; k < needs.size(); ++k) {
    if (needs[k])
      impl::set_gradient_edge(results[k], {node, node->add_input_metadata(results[k])});
    else
      node->add_input_metadata(Node::undefined_input());
  }
}

}  // namespace

Tensors emit_region(capture::Recorder& recorder, RegionPtr region, const Tensors& operands) {
  std::vector<ir::ValueId> values;
  for (const auto& operand : operands) values.push_back(recorder.value_of(operand));
  auto types = result_types(*region, operands);
  const auto count = types.size();
  const auto rows = reached(*region, count, operands);
  std::vector<bool> needs(count), wanted(operands.size());
  for (size_t k = 0; k < count && c10::GradMode::is_enabled(); ++k)
    for (size_t i = 0; i < operands.size() && is_floating(types[k]); ++i)
      if (rows[k][i] && is_differentiable(operands[i]) && operands[i].requires_grad())
        needs[k] = wanted[i] = true;
  auto node = to_node(*region, values);
  const bool any = std::find(needs.begin(), needs.end(), true) != needs.end();
  const bool gives_state = any && region->random && region->derivatives.empty();
  if (any) {
    std::vector<int64_t> targets;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) targets.push_back(static_cast<int64_t>(i));
    node.attrs.push_back({kSession, to_arg(targets)});
    types.push_back(ir::contiguous_tensor(ir::DType::U8, {ir::Dim(int64_t{8})}));
  }
  if (gives_state) {
    node.attrs.push_back({kState, true});
    types.push_back(ir::contiguous_tensor(ir::DType::U8, {ir::Dim(generator_state().numel())}));
  }
  auto results = recorder.add_own(std::move(node), types);
  if (!any) return results;
  auto history = std::make_shared<RegionBackward>();
  history->session = results[count];
  if (gives_state) history->state = results[count + 1];
  results.resize(count);
  torch::autograd::edge_list edges;
  for (size_t i = 0; i < operands.size(); ++i) {
    edges.push_back(wanted[i] ? impl::gradient_edge(operands[i]) : torch::autograd::Edge());
    history->operands.emplace_back(operands[i], false);
    history->types.push_back(own_type(operands[i]));
  }
  history->set_next_edges(std::move(edges));
  history->wanted = std::move(wanted);
  history->region = std::move(region);
  give_histories(history, needs, results);
  return results;
}

Tensors call_region(const ir::Node& node, const Tensors& operands) {
  auto region = std::make_shared<const Region>(region_of(node));
  auto* recorder = capture::active_recorder();
  if (recorder != nullptr && recorder->tape == nullptr) return emit_region(*recorder, region, operands);
  return run_derivatives(*region, code_of(*region), operands);
}

}  // namespace antegrad::compiler
