#include "aot/convention.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "antegrad/error.h"

namespace antegrad::aot {
namespace {

std::vector<bool> find_written(const capture::Trace& trace) {
  std::unordered_set<int32_t> storages;
  for (const auto& node : trace.graph.nodes)
    for (auto value : node.effects.writes) storages.insert(trace.graph.storage_of(value).index);
  std::vector<bool> written;
  for (const auto& input : trace.graph.inputs) written.push_back(storages.count(input.value.index) > 0);
  return written;
}

/// A written input of which some view reaches memory outside the input itself needs a base of its own.
void add_escaping_inputs(const capture::Trace& trace, const std::vector<bool>& written, std::vector<AliasGroup>& groups) {
  std::map<ir::ValueId, Extent> reach;
  for (const auto& value : trace.graph.values) {
    if (!value.base.valid() || value.type.tensor() == nullptr) continue;
    if (value.type.tensor()->dtype != trace.graph.tensor_type(value.base).dtype) continue;
    auto [entry, is_new] = reach.try_emplace(value.base, extent_of(*value.type.tensor()));
    const auto extent = extent_of(*value.type.tensor());
    entry->second.first = std::min(entry->second.first, extent.first);
    entry->second.last = std::max(entry->second.last, extent.last);
  }
  for (size_t i = 0; i < trace.graph.inputs.size(); ++i) {
    auto entry = reach.find(trace.graph.inputs[i].value);
    const bool grouped = std::any_of(groups.begin(), groups.end(), [&](const AliasGroup& g) {
      return std::count(g.members.begin(), g.members.end(), static_cast<int32_t>(i)) > 0;
    });
    if (entry == reach.end() || !written[i] || grouped) continue;
    const auto& type = trace.graph.tensor_type(trace.graph.inputs[i].value);
    const auto own = extent_of(type);
    if (entry->second.first >= own.first && entry->second.last <= own.last) continue;
    Extent extent{std::min(own.first, entry->second.first), std::max(own.last, entry->second.last)};
    groups.push_back({{static_cast<int32_t>(i)}, extent, type.dtype});
  }
}

bool resizes(const capture::Trace& trace, ir::ValueId input) {
  return std::any_of(trace.graph.nodes.begin(), trace.graph.nodes.end(), [&](const ir::Node& node) {
    return node.op.rfind("aten.resize", 0) == 0 && !node.args.empty() && node.args[0].as<ir::ValueId>() != nullptr &&
           *node.args[0].as<ir::ValueId>() == input;
  });
}

/// Inputs on whose storage the program counts from the start (as_strided with an offset).
std::vector<int32_t> find_fixed_offsets(const capture::Trace& trace) {
  std::vector<int32_t> fixed;
  for (const auto& node : trace.graph.nodes) {
    const bool absolute = (node.op.rfind("aten.as_strided", 0) == 0 && node.args.size() > 3) ||
                          node.op.rfind("aten.set_.source_Tensor_storage_offset", 0) == 0;
    if (!absolute || node.outputs.empty()) continue;
    for (size_t i = 0; i < trace.graph.inputs.size(); ++i)
      if (trace.graph.inputs[i].value == trace.graph.storage_of(node.outputs[0])) fixed.push_back(static_cast<int32_t>(i));
  }
  std::sort(fixed.begin(), fixed.end());
  fixed.erase(std::unique(fixed.begin(), fixed.end()), fixed.end());
  return fixed;
}

/// Builds the graph's outputs and the recipes that refer to them.
class Outputs {
 public:
  Outputs(const capture::Trace& trace, Emitter& emit, Memory& memory) : trace_(trace), emit_(emit), memory_(memory) {
    for (const auto& node : emit.graph().nodes)
      if (node.op == "antegrad.constant") constants_.insert(node.outputs[0].index);
    for (size_t i = 0; i < trace.graph.inputs.size(); ++i) input_of_[trace.graph.inputs[i].value] = static_cast<int32_t>(i);
  }

  int32_t add(ir::ValueId value, ir::OutputRole role, int32_t target = -1) {
    emit_.graph().outputs.push_back({value, role, {}, target});
    return static_cast<int32_t>(emit_.graph().outputs.size()) - 1;
  }

  Recipe recipe_for(ir::ValueId traced) {
    Recipe recipe;
    auto here = traced;
    while (true) {
      if (auto input = input_of_.find(here); input != input_of_.end()) {
        recipe.kind = Recipe::Kind::Input;
        recipe.index = input->second;
        break;
      }
      const auto* view = memory_.view_of(here);
      if (view == nullptr) {
        recipe.kind = Recipe::Kind::Result;
        recipe.index = result_of_root(memory_.root_of(here));
        break;
      }
      auto node = *view->node;
      node.outputs.clear();
      node.provenance = {};
      node.args[0] = ir::ValueId{0};
      recipe.views.push_back({std::move(node), view->output});
      here = view->parent;
    }
    std::reverse(recipe.views.begin(), recipe.views.end());
    return recipe;
  }

 private:
  int32_t result_of_root(int32_t root) {
    auto found = result_of_root_.find(root);
    if (found != result_of_root_.end()) {
      emit_.graph().outputs[static_cast<size_t>(found->second)].role = ir::OutputRole::IntermediateBase;
      return found->second;
    }
    auto value = memory_.contents(root);
    // The caller may write to what it gets; a constant is for all calls.
    if (constants_.count(value.index)) value = emit_.op("aten.clone", {value});
    return result_of_root_[root] = add(value, ir::OutputRole::UserOutput);
  }

  const capture::Trace& trace_;
  Emitter& emit_;
  Memory& memory_;
  std::unordered_set<int32_t> constants_;
  std::map<ir::ValueId, int32_t> input_of_;
  std::map<int32_t, int32_t> result_of_root_;
};

MakeOutput make_output(size_t k, const capture::OutputEnd& end, Outputs& outputs, ir::Graph& graph) {
  MakeOutput step;
  step.output = static_cast<int32_t>(k);
  if (!end.value.valid()) return step;
  if (end.same_as_output >= 0) {
    step.recipe = {Recipe::Kind::Output, end.same_as_output, {}};
  } else if (end.same_as_input >= 0) {
    step.recipe = {Recipe::Kind::Input, end.same_as_input, {}};
  } else {
    step.recipe = outputs.recipe_for(end.value);
    if (step.recipe.kind == Recipe::Kind::Result) {
      step.version = end.version;
      if (!step.recipe.views.empty())
        graph.outputs[static_cast<size_t>(step.recipe.index)].role = ir::OutputRole::IntermediateBase;
    }
    step.requires_grad = end.requires_grad;
  }
  return step;
}

void add_write_backs(const std::vector<int32_t>& roots, Memory& memory, Outputs& outputs, Emitter& emit,
                     Signature& signature) {
  for (size_t slot = 0; slot < roots.size(); ++slot) {
    const auto root = roots[slot];
    if (root < 0 || !memory.written(root)) continue;
    const auto value = memory.contents(root);
    if (memory.regrown(root)) {
      ResizeInput resize{static_cast<int32_t>(slot), {}};
      for (const auto& dim : emit.type(value).sizes) resize.sizes.push_back(dim.constant());
      signature.steps.emplace_back(std::move(resize));
    }
    const auto place = std::find(signature.graph_inputs.begin(), signature.graph_inputs.end(), static_cast<int32_t>(slot));
    const auto target = static_cast<int32_t>(place - signature.graph_inputs.begin());
    const auto result = outputs.add(value, ir::OutputRole::MutatedInput, target);
    signature.steps.emplace_back(WriteBack{static_cast<int32_t>(slot), result});
  }
}

}  // namespace

std::vector<int32_t> add_inputs(const capture::Trace& trace, Emitter& emit, Memory& memory, Signature& signature) {
  const auto& inputs = trace.graph.inputs;
  const auto written = find_written(trace);
  auto groups = find_alias_groups(trace, written);
  add_escaping_inputs(trace, written, groups);
  std::vector<bool> grouped(inputs.size());
  for (const auto& group : groups)
    for (auto member : group.members) grouped[static_cast<size_t>(member)] = true;

  signature.user_inputs = static_cast<int32_t>(trace.user_inputs);
  signature.inputs = static_cast<int32_t>(inputs.size());
  signature.slots = static_cast<int32_t>(inputs.size() + groups.size());
  signature.fixed_offsets = find_fixed_offsets(trace);
  std::vector<int32_t> roots(static_cast<size_t>(signature.slots), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_tensor = trace.graph.type_of(inputs[i].value).tensor() != nullptr;
    if (written[i] || (is_tensor && resizes(trace, inputs[i].value))) signature.written.push_back(static_cast<int32_t>(i));
    if (grouped[i]) continue;
    const auto value = emit.graph().add_input(trace.graph.type_of(inputs[i].value), inputs[i].role, inputs[i].name);
    signature.graph_inputs.push_back(static_cast<int32_t>(i));
    if (is_tensor) roots[i] = memory.add_root(inputs[i].value, value);
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto& group = groups[g];
    const auto& first = trace.graph.tensor_type(inputs[static_cast<size_t>(group.members[0])].value);
    const auto elements = group.extent.last - group.extent.first;
    const auto slot = inputs.size() + g;
    const auto value = emit.graph().add_input(ir::contiguous_tensor(group.dtype, {elements}, first.device),
                                              ir::InputRole::UserInput, fmt::format("base{}", g));
    signature.graph_inputs.push_back(static_cast<int32_t>(slot));
    signature.steps.emplace_back(MakeBase{static_cast<int32_t>(slot), group.members,
                                          first.offset.constant() - group.extent.first, elements});
    roots[slot] = memory.add_base(value, group.extent.first);
    SharedMemory shared;
    for (auto member : group.members) {
      const auto input = inputs[static_cast<size_t>(member)].value;
      memory.add_region(input, roots[slot]);
      shared.inputs.push_back(member);
      shared.offsets.push_back((trace.graph.tensor_type(input).offset - first.offset).constant());
    }
    if (shared.inputs.size() > 1) signature.shared.push_back(std::move(shared));
  }
  return roots;
}

void finish_signature(const capture::Trace& trace, const std::vector<int32_t>& roots, Emitter& emit, Memory& memory,
                      FunctionalGraph& result) {
  auto& signature = result.signature;
  Outputs outputs(trace, emit, memory);
  signature.steps.emplace_back(RunGraph{});
  add_write_backs(roots, memory, outputs, emit, signature);
  signature.user_outputs = static_cast<int32_t>(trace.output_ends.size());
  for (size_t k = 0; k < trace.output_ends.size(); ++k)
    signature.steps.emplace_back(make_output(k, trace.output_ends[k], outputs, result.graph));
  for (size_t i = 0; i < trace.input_ends.size(); ++i) {
    const auto& end = trace.input_ends[i];
    const auto input = static_cast<int32_t>(i);
    const auto own = trace.graph.inputs[i].value;
    const bool resized = roots[i] >= 0 && memory.regrown(roots[i]) && memory.view_of(end.value) == nullptr;
    if (end.value != own && !resized) signature.steps.emplace_back(SetInput{input, outputs.recipe_for(end.value)});
  }
  for (size_t i = 0; i < trace.input_ends.size(); ++i) {
    const auto& end = trace.input_ends[i];
    const auto input = static_cast<int32_t>(i);
    if (end.version_bumps > 0) signature.steps.emplace_back(BumpVersion{input, end.version_bumps});
    if (end.requires_grad != end.required_grad) signature.steps.emplace_back(RequireGrad{input, end.requires_grad});
  }
}

}  // namespace antegrad::aot
