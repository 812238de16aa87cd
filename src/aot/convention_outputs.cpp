#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "antegrad/error.h"
#include "aot/convention.h"
#include "aten/convert.h"

namespace antegrad::aot {
namespace {

/// Builds the graph's outputs and the steps that make real tensors of them.
class Outputs {
 public:
  Outputs(const capture::Trace& trace, Memory& memory, FunctionalGraph& result)
      : trace_(trace), memory_(memory), result_(result) {
    for (size_t i = 0; i < trace.graph.inputs.size(); ++i)
      made_[trace.graph.inputs[i].value] = {Source::Kind::Input, static_cast<int32_t>(i)};
    for (const auto& view : trace.views) made_[view.value] = {Source::Kind::Input, view.input};
  }

  int32_t add(ir::ValueId value, ir::OutputRole role, int32_t target = -1) {
    result_.graph.outputs.push_back({value, role, {}, target});
    return static_cast<int32_t>(result_.graph.outputs.size()) - 1;
  }

  bool is_on_input(ir::ValueId traced) const {
    traced = memory_.object_of(traced);
    while (const auto* view = memory_.view_of(traced)) traced = memory_.object_of(view->parent);
    auto found = made_.find(traced);
    return found != made_.end() && found->second.kind == Source::Kind::Input;
  }

  /// Returns the real tensor of a traced one, and adds the steps that make it, once.
  Source source_of(ir::ValueId traced) {
    if (auto found = made_.find(traced); found != made_.end()) return found->second;
    Source source;
    if (const auto* view = memory_.view_of(traced)) {
      MakeView step{source_of(view->parent), *view->node, view->output};
      step.node.outputs.clear();
      step.node.provenance = {};
      step.node.effects = {};
      step.node.args[0] = ir::ValueId{0};
      step.no_grad = view->node->provenance.sequence < 0 || has_own_history(traced);
      source = {Source::Kind::View, views_++};
      if (step.source.kind == Source::Kind::Result)
        result_.graph.outputs[step.source.index].role = ir::OutputRole::IntermediateBase;
      result_.signature.steps.emplace_back(std::move(step));
    } else if (const auto original = memory_.object_of(traced);
               original != traced && memory_.owns_whole_storage(traced)) {
      source = source_of(original);
    } else {
      source = {Source::Kind::Result, result_of_root(memory_.root_of(traced))};
    }
    return made_[traced] = source;
  }

  /// Returns the real tensor object of a traced one. Where the function changed its metadata in place,
  /// add_changes() will do so, too.
  Source object_of(ir::ValueId traced) {
    const auto original = memory_.object_of(traced);
    const auto object = source_of(original);
    if (original != traced && !memory_.owns_whole_storage(traced)) changed_[traced] = object;
    return object;
  }

  void add_changes() {
    for (const auto& [traced, object] : changed_) {
      const auto source = source_of(traced);
      result_.signature.steps.emplace_back(SetTensor{object, source});
    }
  }

  int32_t result_of_root(RootId root) {
    auto found = result_of_root_.find(root);
    if (found != result_of_root_.end()) return found->second;
    return result_of_root_[root] = add(memory_.contents(root), ir::OutputRole::UserOutput);
  }

  /// Returns the graph output with the contents of a traced tensor that is a whole storage; -1 for any other
  /// tensor.
  int32_t result_of(ir::ValueId traced) {
    if (memory_.view_of(traced) != nullptr || made_.count(traced) > 0) return -1;
    const auto source = source_of(traced);
    return source.kind == Source::Kind::Result ? source.index : -1;
  }

 private:
  bool has_own_history(ir::ValueId traced) const {
    return std::any_of(trace_.tangents.begin(), trace_.tangents.end(),
                       [&](const auto& tangent) { return tangent.has_own_history && tangent.of == traced; });
  }

  const capture::Trace& trace_;
  Memory& memory_;
  FunctionalGraph& result_;
  int32_t views_ = 0;
  std::map<ir::ValueId, Source> made_;
  std::map<ir::ValueId, Source> changed_;  ///< by the object's last value
  std::map<RootId, int32_t> result_of_root_;
};

MakeOutput make_output(const capture::OutputEnd& end, Outputs& outputs) {
  MakeOutput step;
  if (!end.value.valid()) return step;
  if (end.same_as_input >= 0) {
    step.source = {Source::Kind::Input, end.same_as_input};
    return step;
  }
  step.source = outputs.object_of(end.value);
  step.requires_grad = end.requires_grad;
  return step;
}

/// Returns the inputs through which the base in a slot is written. Empty when the base reaches beyond them.
std::vector<int32_t> members_of(const Signature& signature, size_t slot) {
  const auto* base = find_base(signature, static_cast<int32_t>(slot));
  return base == nullptr || base->escapes ? std::vector<int32_t>() : base->members;
}

/// Returns the tangent that is the gradient of an input as the function left it, or -1.
int32_t tangent_of_input(const capture::Trace& trace, size_t input) {
  for (size_t k = 0; k < trace.tangents.size(); ++k)
    if (trace.tangents[k].input == static_cast<int32_t>(input)) return static_cast<int32_t>(k);
  return -1;
}

bool changes_shape(const capture::Trace& trace, size_t input) {
  return input < trace.inputs.size() && trace.inputs[input].end.value != trace.graph.inputs[input].value;
}

bool is_generator(const capture::Trace& trace, size_t input) {
  const auto lifted = input - trace.user_inputs;
  return input >= trace.user_inputs && lifted < trace.lifted.size() &&
         trace.lifted[lifted].generator.defined();
}

/// Returns the steps that write results to the memory of inputs. Steps that give such results a history are
/// added at once.
std::vector<Step> make_write_backs(const capture::Trace& trace, const std::vector<RootId>& roots,
                                   Memory& memory, Outputs& outputs, Emitter& emit, Signature& signature) {
  std::vector<Step> steps;
  for (size_t slot = 0; slot < roots.size(); ++slot) {
    const auto root = roots[slot];
    if (!root.valid() || !memory.written(root)) continue;
    const auto value = memory.contents(root);
    if (memory.regrown(root)) {
      steps.emplace_back(ResizeInput{static_cast<int32_t>(slot), aten::constants(emit.type(value).sizes)});
    }
    const auto place =
        std::find(signature.graph_inputs.begin(), signature.graph_inputs.end(), static_cast<int32_t>(slot));
    const auto target = static_cast<int32_t>(place - signature.graph_inputs.begin());
    const auto result = outputs.add(value, ir::OutputRole::MutatedInput, target);
    if (is_generator(trace, slot)) {
      steps.emplace_back(SetGenerator{static_cast<int32_t>(slot), result});
      continue;
    }
    // The history of an input that also changes its shape is attached at the end.
    const auto tangent = changes_shape(trace, slot) ? -1 : tangent_of_input(trace, slot);
    if (tangent >= 0) signature.steps.emplace_back(Attach{{Source::Kind::Result, result}, tangent});
    steps.emplace_back(
        WriteBack{static_cast<int32_t>(slot), result, members_of(signature, slot), tangent >= 0});
  }
  return steps;
}

void add_version_bumps(const capture::Trace& trace, std::vector<Step>& steps) {
  for (size_t i = 0; trace.effects && i < trace.inputs.size(); ++i) {
    const auto bumps = trace.inputs[i].end.version_bumps;
    const uint32_t by_write_back = tangent_of_input(trace, i) >= 0 && !changes_shape(trace, i) ? 1 : 0;
    if (bumps > by_write_back)
      steps.emplace_back(BumpVersion{static_cast<int32_t>(i), bumps - by_write_back});
  }
}

/// Adds steps for inputs that come to require gradients inside the function, or cease to.
void add_requirements(const capture::Trace& trace, bool value, std::vector<Step>& steps) {
  for (size_t i = 0; trace.effects && i < trace.inputs.size(); ++i) {
    const auto& end = trace.inputs[i].end;
    if (end.requires_grad != end.required_grad && end.requires_grad == value && !end.history_changed)
      steps.emplace_back(RequireGrad{static_cast<int32_t>(i), value, end.detached});
  }
}

/// Sets the versions of results. Views of inputs share the inputs' counters, which BumpVersion takes care of.
void add_versions(const capture::Trace& trace, const Memory& memory, Outputs& outputs,
                  std::vector<Step>& steps) {
  std::map<int32_t, uint32_t> versions;  // of results
  for (const auto& end : trace.output_ends) {
    if (!end.value.valid() || end.same_as_input >= 0 || end.version == 0 || outputs.is_on_input(end.value))
      continue;
    auto& version = versions[outputs.result_of_root(memory.root_of(memory.object_of(end.value)))];
    version = std::max(version, end.version);
  }
  for (const auto& [result, version] : versions) steps.emplace_back(SetVersion{result, version});
}

/// Throws where autograd would have to know more about an input than a plain tensor can tell it.
void check_gradients(const capture::Trace& trace, const std::vector<RootId>& roots) {
  auto refuse = [&](int32_t input, const char* what, const char* way_out) {
    throw Error(ErrorCode::NeedsGrad, "functionalize",
                fmt::format("input '{}' {}", trace.graph.inputs[input].name, what), way_out);
  };
  auto check = [&](int32_t input) {
    if (!roots[input].valid())
      refuse(input, "needs a gradient and shares memory with another input that is written",
             "Pass a clone() of one of them");
  };
  for (const auto& gradient : trace.gradients) check(gradient.input);
  for (size_t i = 0; trace.effects && i < trace.inputs.size(); ++i) {
    const auto& end = trace.inputs[i].end;
    if (!end.required_grad || end.requires_grad || end.history_changed) continue;
    for (const auto& output : trace.output_ends)
      if (output.value.valid() && output.same_as_input < 0 &&
          trace.graph.storage_of(output.value) == trace.graph.inputs[i].value)
        refuse(static_cast<int32_t>(i), "ceases to require a gradient, and a view of it is returned",
               "Use detach(), which returns a tensor of its own, or set Options::unsupported to Break");
  }
  for (const auto& tangent : trace.tangents) {
    if (tangent.input < 0) continue;
    check(tangent.input);
    if (!changes_shape(trace, tangent.input)) continue;
    const auto input = trace.graph.inputs[tangent.input].value;
    for (const auto& end : trace.output_ends)
      if (end.value.valid() && end.same_as_input < 0 && trace.graph.storage_of(end.value) == input)
        refuse(tangent.input, "is changed in shape while autograd records, and a view of it is returned",
               "Use the op that returns a new tensor, or make the change under torch::NoGradGuard");
  }
}

}  // namespace

void finish_signature(const capture::Trace& trace, const std::vector<RootId>& roots, Emitter& emit,
                      Memory& memory, FunctionalGraph& result) {
  auto& signature = result.signature;
  auto& steps = signature.steps;
  check_gradients(trace, roots);
  Outputs outputs(trace, memory, result);
  add_requirements(trace, true, steps);  // before the call takes gradient edges
  TakeGenerators generators;
  for (size_t i = 0; i < trace.inputs.size(); ++i)
    if (is_generator(trace, i)) generators.inputs.push_back(static_cast<int32_t>(i));
  if (!generators.inputs.empty()) steps.emplace_back(std::move(generators));
  steps.emplace_back(RunGraph{});
  std::vector<bool> attached(trace.tangents.size());
  for (size_t k = 0; k < trace.tangents.size(); ++k) {
    attached[k] = trace.tangents[k].input >= 0;  // with its write-back
    if (attached[k] || trace.tangents[k].has_own_history) continue;
    const auto index = outputs.result_of(memory.object_of(trace.tangents[k].of));
    if (index < 0) continue;
    steps.emplace_back(Attach{{Source::Kind::Result, index}, static_cast<int32_t>(k)});
    attached[k] = true;
  }
  std::vector<Step> write_backs;
  if (trace.effects) write_backs = make_write_backs(trace, roots, memory, outputs, emit, signature);
  add_versions(trace, memory, outputs, steps);
  if (trace.differentiable) steps.emplace_back(SaveForBackward{});
  steps.insert(steps.end(), write_backs.begin(), write_backs.end());
  add_version_bumps(trace, steps);  // before views are made, which remember the version of their base
  for (size_t k = 0; k < trace.tangents.size(); ++k) {
    const auto of = trace.tangents[k].of;
    if (attached[k] || memory.object_of(of) != of) continue;
    steps.emplace_back(Attach{outputs.source_of(of), static_cast<int32_t>(k)});
    attached[k] = true;
  }
  signature.user_outputs = static_cast<int32_t>(trace.output_ends.size());
  std::vector<RetainGrad> retaining;
  for (const auto& end : trace.output_ends) {
    const auto step = make_output(end, outputs);
    steps.emplace_back(step);
    if (end.retains_grad && step.source.kind != Source::Kind::Input) retaining.push_back({step.source});
  }
  for (size_t i = 0; trace.effects && i < trace.inputs.size(); ++i) {
    const auto value = trace.inputs[i].end.value;
    if (value == trace.graph.inputs[i].value) continue;
    signature.changed.push_back(static_cast<int32_t>(i));
    outputs.object_of(value);
  }
  outputs.add_changes();
  // Views whose shape is changed in place are attached last: until then they have the history of a view, on
  // which views of them depend.
  for (size_t k = 0; k < trace.tangents.size(); ++k)
    if (!attached[k])
      steps.emplace_back(Attach{outputs.object_of(trace.tangents[k].of), static_cast<int32_t>(k)});
  for (size_t k = 0; k < trace.tangents.size(); ++k)
    if (const auto input = trace.tangents[k].input; input >= 0 && changes_shape(trace, input))
      steps.emplace_back(Attach{{Source::Kind::Input, input}, static_cast<int32_t>(k)});
  for (size_t i = 0; trace.effects && i < trace.inputs.size(); ++i)
    if (trace.inputs[i].end.retains_grad)
      retaining.push_back({{Source::Kind::Input, static_cast<int32_t>(i)}});
  steps.insert(steps.end(), retaining.begin(), retaining.end());
  add_requirements(trace, false, steps);
}

void add_gradients(const capture::Trace& trace, const std::vector<RootId>& roots,
                   const IdMap<RootId, int32_t>& generations, Memory& memory, FunctionalGraph& result) {
  auto& signature = result.signature;
  const auto& slots = signature.graph_inputs;
  auto add = [&](int32_t input, ir::ValueId value) {
    const auto place = std::find(slots.begin(), slots.end(), input) - slots.begin();
    result.graph.outputs.push_back(
        {value, ir::OutputRole::Grad, trace.graph.inputs[input].name, static_cast<int32_t>(place)});
  };
  for (const auto& gradient : trace.gradients) {
    add(gradient.input, gradient.value.valid() ? memory.read(gradient.value) : gradient.value);
    signature.gradients.push_back(gradient.input);
  }
  auto writes = [&](RootId root) { return memory.generation(root) - generations[root]; };
  for (const auto& end : trace.output_ends)
    if (end.value.valid() && writes(memory.root_of(end.value)) > 0 &&
        std::find(roots.begin(), roots.end(), memory.root_of(end.value)) == roots.end())
      throw Error(ErrorCode::UnsupportedOp, "functionalize", "the backward pass writes to an output",
                  "Return a clone() of it");
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].valid() || writes(roots[i]) == 0) continue;
    if (static_cast<int32_t>(i) >= signature.inputs)
      throw Error(ErrorCode::UnsupportedOp, "functionalize",
                  "the backward pass writes to inputs that share memory", "Pass a clone() of one of them");
    add(static_cast<int32_t>(i), memory.contents(roots[i]));
    signature.backward_writes.emplace_back(static_cast<int32_t>(i), writes(roots[i]));
  }
}

}  // namespace antegrad::aot
