#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "aot/convention.h"

namespace antegrad::aot {

std::vector<bool> find_written(const capture::Trace& trace) {
  std::unordered_set<int32_t> storages;
  for (const auto& node : trace.graph.nodes)
    for (auto value : node.effects.writes) storages.insert(trace.graph.storage_of(value).index);
  std::vector<bool> written;
  // The caller does not see what a backward pass writes to an incoming gradient.
  for (const auto& input : trace.graph.inputs)
    written.push_back(input.role != ir::InputRole::Tangent && storages.count(input.value.index) > 0);
  return written;
}

namespace {

/// Returns the inputs whose storage the program addresses from its start (as_strided with an offset).
std::vector<int32_t> find_fixed_offsets(const capture::Trace& trace) {
  std::vector<int32_t> fixed;
  for (const auto& node : trace.graph.nodes) {
    const bool absolute = (node.op.rfind("aten.as_strided", 0) == 0 && node.args.size() > 3) ||
                          node.op.rfind("aten.set_.source_Tensor_storage_offset", 0) == 0;
    if (!absolute || node.outputs.empty()) continue;
    for (size_t i = 0; i + trace.tangents.size() < trace.graph.inputs.size(); ++i)
      if (trace.graph.inputs[i].value == trace.graph.storage_of(node.outputs[0]))
        fixed.push_back(static_cast<int32_t>(i));
  }
  std::sort(fixed.begin(), fixed.end());
  fixed.erase(std::unique(fixed.begin(), fixed.end()), fixed.end());
  return fixed;
}

std::vector<DisjointInputs> find_apart(const capture::Trace& trace, const std::vector<bool>& written,
                                       const std::vector<AliasGroup>& groups) {
  auto grouped = [&](size_t i, size_t j) {
    return std::any_of(groups.begin(), groups.end(), [&](const AliasGroup& group) {
      const auto& m = group.members;
      return std::count(m.begin(), m.end(), static_cast<int32_t>(i)) &&
             std::count(m.begin(), m.end(), static_cast<int32_t>(j));
    });
  };
  auto offset = [&](size_t i) {
    return trace.graph.tensor_type(trace.graph.inputs[i].value).offset.constant();
  };
  std::vector<DisjointInputs> apart;
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = 0; written[i] && j < written.size(); ++j)
      if (j != i && trace.inputs[i].memory.storage == trace.inputs[j].memory.storage && !grouped(i, j))
        apart.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), offset(j) - offset(i)});
  return apart;
}

}  // namespace

std::vector<std::vector<int32_t>> find_shared_gradients(const capture::Trace& trace) {
  std::vector<std::vector<int32_t>> shared;
  auto matters = [&](int32_t input) {
    auto is = [&](const auto& end) { return end.input == input; };
    return std::any_of(trace.gradients.begin(), trace.gradients.end(), is) ||
           std::any_of(trace.tangents.begin(), trace.tangents.end(), is);
  };
  if (!trace.differentiable) return shared;
  const auto written = find_written(trace);
  for (auto& group : find_alias_groups(trace, written))
    if (std::any_of(group.members.begin(), group.members.end(), matters))
      shared.push_back(std::move(group.members));
  const auto is_shared = [&](int32_t input) {
    return std::any_of(shared.begin(), shared.end(),
                       [&](const auto& group) { return std::count(group.begin(), group.end(), input) > 0; });
  };
  // Autograd gives a history to the base of such an input: copy_() refuses memory that overlaps itself.
  for (int32_t i = 0; i < static_cast<int32_t>(trace.user_inputs); ++i) {
    const auto* type = trace.graph.type_of(trace.graph.inputs[i].value).tensor();
    if (written[i] && type != nullptr && overlaps_itself(*type) && matters(i) && !is_shared(i))
      shared.push_back({i});
  }
  return shared;
}

std::vector<RootId> add_inputs(const capture::Trace& trace, Emitter& emit, Memory& memory,
                               Signature& signature) {
  const std::vector<ir::Input> inputs(trace.graph.inputs.begin(),
                                      trace.graph.inputs.end() - static_cast<int64_t>(trace.tangents.size()));
  const auto written = find_written(trace);
  const auto growing = find_growing(trace);
  const auto groups = find_alias_groups(trace, written);
  std::vector<bool> grouped(inputs.size());
  for (const auto& group : groups)
    for (auto member : group.members) grouped[member] = true;

  signature.user_inputs = static_cast<int32_t>(trace.user_inputs);
  signature.inputs = static_cast<int32_t>(inputs.size());
  signature.slots = static_cast<int32_t>(inputs.size() + groups.size());
  signature.fixed_offsets = find_fixed_offsets(trace);
  for (const auto& view : trace.views) signature.views.push_back(view.input);
  for (size_t i = 0; i < trace.duplicate_of.size(); ++i)
    if (trace.duplicate_of[i] >= 0)
      signature.same.emplace_back(trace.duplicate_of[i], static_cast<int32_t>(i));
  std::vector<RootId> roots(signature.slots);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_tensor = trace.graph.type_of(inputs[i].value).tensor() != nullptr;
    if (written[i] || growing[i]) signature.written.push_back(static_cast<int32_t>(i));
    if (grouped[i]) continue;
    const auto value =
        emit.graph().add_input(trace.graph.type_of(inputs[i].value), inputs[i].role, inputs[i].name);
    signature.graph_inputs.push_back(static_cast<int32_t>(i));
    if (is_tensor) roots[i] = memory.add_root(inputs[i].value, value);
  }
  signature.apart = find_apart(trace, written, groups);
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto& group = groups[g];
    const auto& first = trace.graph.tensor_type(inputs[group.members[0]].value);
    const auto elements = group.extent.last - group.extent.first;
    const auto slot = inputs.size() + g;
    const auto value = emit.graph().add_input(ir::contiguous_tensor(group.dtype, {elements}, first.device),
                                              ir::InputRole::UserInput, fmt::format("base{}", g));
    signature.graph_inputs.push_back(static_cast<int32_t>(slot));
    signature.steps.emplace_back(MakeBase{static_cast<int32_t>(slot), group.members,
                                          first.offset.constant() - group.extent.first, elements,
                                          group.escapes});
    roots[slot] = memory.add_base(value, group.extent.first);
    SharedMemory shared;
    for (auto member : group.members) {
      const auto input = inputs[member].value;
      memory.add_region(input, roots[slot]);
      shared.inputs.push_back(member);
      shared.offsets.push_back((trace.graph.tensor_type(input).offset - first.offset).constant());
    }
    if (shared.inputs.size() > 1) signature.shared.push_back(std::move(shared));
  }
  for (size_t i = inputs.size(); i < trace.graph.inputs.size(); ++i) {
    const auto& tangent = trace.graph.inputs[i];
    memory.add_root(tangent.value,
                    emit.graph().add_input(trace.graph.type_of(tangent.value), tangent.role, tangent.name));
  }
  return roots;
}

}  // namespace antegrad::aot
