#include "compiler/regions/body_plan.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "aten/convert.h"
#include "capture/mode.h"
#include "capture/recorder.h"
#include "compiler/regions/above_kernels.h"
#include "compiler/regions/code.h"
#include "compiler/regions/in_place.h"
#include "compiler/regions/run.h"
#include "ir/restride.h"
#include "ir/verify.h"
#include "partition/partition.h"
#include "runtime/backward.h"

namespace antegrad::compiler {
namespace {

Options options_of_body(const Options& function, const Region& region) {
  auto options = function;
  options.name = region.name.empty() ? "region" : region.name;
  options.watch.clear();
  options.unsupported = Unsupported::Error;
  options.gradients.reset();
  options.progress = {};
  return options;
}

at::Tensor tensor_like(const ir::TensorType& type, bool requires_grad) {
  auto tensor =
      at::empty_strided(aten::constants(type.sizes), aten::constants(type.strides), aten::options_of(type));
  return requires_grad ? tensor.requires_grad_() : tensor;
}

/// The value that owns the memory of a tensor of the capture.
ir::ValueId root_of(const at::Tensor& tensor) {
  auto& recorder = *capture::active_recorder();
  return recorder.graph().storage_of(recorder.value_of(tensor));
}

/// Brings a result to the type that the region says, which starts at the first element of its memory.
at::Tensor fit(const at::Tensor& result, const ir::TensorType& type) {
  const auto strides = aten::constants(type.strides);
  if (!result.defined()) return at::zeros(aten::constants(type.sizes), aten::options_of(type));
  if (result.strides() == at::IntArrayRef(strides) && result.storage_offset() == 0 && !result.is_view())
    return result;
  return at::empty_strided(result.sizes(), strides, result.options().requires_grad(false)).copy_(result);
}

/// A copy with these strides, on memory of its own.
ir::ValueId add_copy(ir::Graph& graph, ir::ValueId value, ir::TensorType type) {
  auto node = ir::restride_node(value, type);
  node.outputs = {graph.add_value(std::move(type))};
  const auto copy = node.outputs[0];
  graph.add_node(std::move(node));
  return copy;
}

ir::ValueId add_zeros(ir::Graph& graph, const ir::TensorType& type) {
  ir::Node zeros;
  zeros.op = "aten.zeros";
  zeros.args = {ir::Arg(ir::Arg::List(type.sizes.begin(), type.sizes.end()))};
  zeros.attrs = {{"dtype", type.dtype}, {"device", type.device}};
  zeros.outputs = {graph.add_value(ir::contiguous_tensor(type.dtype, type.sizes, type.device))};
  const auto value = zeros.outputs[0];
  graph.add_node(std::move(zeros));
  return value;
}

bool is_input(const ir::Graph& graph, ir::ValueId value) {
  return std::ranges::find(graph.inputs, value, &ir::Input::value) != graph.inputs.end();
}

bool same_but_offset(ir::TensorType a, const ir::TensorType& b) {
  a.offset = b.offset;
  return a == b;
}

/// Reads a calling convention that does nothing but to run the graph, attach histories and return results.
/// Returns which output of the graph each result is; nothing for other conventions.
std::optional<std::vector<int32_t>> read_signature(const aot::Signature& signature, BodyPlan& plan) {
  std::vector<int32_t> results;
  std::map<int32_t, int32_t> tangents;  // by output of the graph
  for (const auto& step : signature.steps) {
    if (const auto* attach = std::get_if<aot::Attach>(&step)) {
      if (attach->source.kind != aot::Source::Kind::Result) return std::nullopt;
      tangents[attach->source.index] = attach->tangent;
    } else if (const auto* output = std::get_if<aot::MakeOutput>(&step)) {
      const auto& source = output->source;
      if (source.kind != aot::Source::Kind::Result || std::ranges::count(results, source.index) > 0)
        return std::nullopt;
      results.push_back(source.index);
    } else if (!std::holds_alternative<aot::RunGraph>(step) &&
               !std::holds_alternative<aot::SetVersion>(step) &&
               !std::holds_alternative<aot::SaveForBackward>(step)) {
      return std::nullopt;
    }
  }
  const auto& slots = signature.graph_inputs;
  if (!signature.backward_writes.empty() ||
      std::ranges::any_of(slots, [&](int32_t slot) { return slot >= signature.inputs; }))
    return std::nullopt;
  plan.operands.assign(slots.begin(), slots.end());
  plan.gradient_of.assign(static_cast<size_t>(signature.inputs), -1);
  for (size_t g = 0; g < signature.gradients.size(); ++g)
    plan.gradient_of[signature.gradients[g]] = static_cast<int32_t>(g);
  for (const auto result : results)
    plan.tangent_of.push_back(tangents.contains(result) ? tangents[result] : -1);
  return results;
}

/// Puts the results of a forward graph, its first outputs, into this order.
void reorder(const std::vector<int32_t>& results, ir::Graph& forward, std::vector<partition::Saved>& saved) {
  const auto before = forward.outputs;
  for (size_t k = 0; k < results.size(); ++k) forward.outputs[k] = before[results[k]];
  for (auto& each : saved)
    if (const auto at = std::ranges::find(results, each.output); at != results.end())
      each.output = static_cast<int32_t>(at - results.begin());
}

class BodyPlanner {
 public:
  BodyPlanner(const CaptureSettings& settings, const BodyUse& use)
      : use_(use),
        body_(*use.region.bodies[0]),
        options_(options_of_body(settings.options, use.region)),
        settings_{{options_, settings.effects, settings.lowering}} {
    settings_.may_change_settings = false;
  }

  BodyPlan run() {
    const auto captured = capture();
    const auto& trace = captured.trace;
    const auto throws = [](const capture::TangentEnd& tangent) { return tangent.error != nullptr; };
    const auto facts = facts_of(trace);
    if (!trace.lifted.empty()) return refused("it needs a tensor that it is not given");
    if (has_lazy_bits(trace)) return refused("it conjugates or negates lazily");
    if (std::ranges::any_of(trace.tangents, throws)) return refused("a gradient of it throws");
    const auto order = read_signature(captured.functional.signature, plan_);
    if (!order || order->size() != use_.results.size())
      return refused("its results are not tensors of their own");
    auto optimised = optimise(settings_, without_input_offsets(captured), facts);
    const auto joint = with_bodies_in_place(settings_, std::move(optimised.before_fusion), facts);
    plan_.reached_by = facts.reached_by;
    plan_.backward.stage = ir::Stage::Backward;
    auto forward = facts.differentiable ? divide(joint) : joint;
    reorder(*order, forward, plan_.saved);
    if (!own_results(forward)) return refused("its results share memory with what it keeps");
    ir::verify(forward);
    plan_.forward = std::make_shared<const ir::Graph>(std::move(forward));
    return std::move(plan_);
  }

 private:
  static BodyPlan refused(std::string problem) { return {.problem = std::move(problem)}; }

  Captured capture() const {
    const AboveKernels above;
    const c10::AutoGradMode grad_mode(!use_.targets.empty());
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < use_.operands.size(); ++i)
      inputs.push_back(
          tensor_like(use_.operands[i], std::ranges::count(use_.targets, static_cast<int64_t>(i)) > 0));
    const auto replay = replay_of(body_, use_.region.plain[0]);
    const auto run = [&](const std::vector<at::Tensor>& given) {
      const auto body = [&](Tensors tensors) {
        for (size_t i = 0; i < tensors.size(); ++i) {  // ops were recorded for these strides
          const auto& type = body_.tensor_type(body_.inputs[i].value);
          if (tensors[i].strides() != at::IntArrayRef(aten::constants(type.strides)))
            tensors[i] = fit(tensors[i], type);
        }
        return (*replay)(tensors, {});
      };
      auto results = run_derivatives(use_.region, {body}, given);
      for (size_t k = 0; k < results.size(); ++k) {
        results[k] = fit(results[k], use_.results[k]);
        const auto is_alias = [&](const at::Tensor& other) { return root_of(other) == root_of(results[k]); };
        if (std::ranges::any_of(given, is_alias) ||
            std::any_of(results.begin(), results.begin() + static_cast<ptrdiff_t>(k), is_alias))
          results[k] = results[k].clone();
      }
      return detail::Outcome{std::move(results), nullptr, false};
    };
    return capture_call(settings_, std::move(inputs), nullptr, run);
  }

  /// What the function writes before its backward pass is for the graph to see that calls the body.
  ir::Graph divide(const ir::Graph& joint) {
    auto halves = partition::partition(joint, MinCut{}, {}, {.fuses = true, .writable_inputs = false});
    plan_.saved = std::move(halves.saved);
    plan_.extra = std::move(halves.extra);
    plan_.backward = std::move(halves.backward);
    return std::move(halves.forward);
  }

  /// Whether results have memory of their own and what is saved has none of an argument. Copies results that
  /// do not, if nothing else depends on them.
  bool own_results(ir::Graph& graph) const {
    graph.stage = ir::Stage::Functional;
    std::vector<ir::ValueId> taken;
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
      auto& output = graph.outputs[k];
      if (!output.value.valid()) return false;
      output.role = ir::OutputRole::UserOutput;
      const auto root = graph.storage_of(output.value);
      const bool is_result = k < use_.results.size();
      const bool shares = is_input(graph, root) || (is_result && std::ranges::count(taken, root) > 0);
      taken.push_back(root);
      if (is_result && !(graph.tensor_type(output.value) == use_.results[k])) return false;
      if (!shares) continue;
      if (!is_result ||
          std::ranges::count(plan_.saved, static_cast<int32_t>(k), &partition::Saved::output) > 0)
        return false;
      output.value = add_copy(graph, output.value, use_.results[k]);
    }
    for (auto& input : graph.inputs) input.role = ir::InputRole::UserInput;
    return true;
  }

  const BodyUse& use_;
  const ir::Graph& body_;
  const Options options_;
  CaptureSettings settings_;
  BodyPlan plan_;
};

/// Makes outputs of the graph of gradients, and finds those that are arguments.
class Gradients {
 public:
  explicit Gradients(ir::Graph& graph, std::vector<BackwardPlan::Argument> arguments)
      : graph_(graph), arguments_(std::move(arguments)) {}

  /// `value`: invalid for zeros.
  BackwardPlan::Gradient add(ir::ValueId value, const ir::TensorType& type) {
    if (!value.valid()) value = add_zeros(graph_, type);
    const auto& own = graph_.tensor_type(value);
    for (size_t i = 0; i < graph_.inputs.size(); ++i)
      if (graph_.inputs[i].value == value && same_but_offset(own, type)) return {-1, arguments_[i]};
    for (size_t k = 0; k < graph_.outputs.size(); ++k)
      if (graph_.outputs[k].value == value && own == type) return {static_cast<int32_t>(k), {}};
    const auto root = graph_.storage_of(value);
    const auto is_on_memory = [&](const ir::Output& output) {
      return graph_.storage_of(output.value) == root;
    };
    if (!(own == type) || root != value || is_input(graph_, root) ||
        std::ranges::any_of(graph_.outputs, is_on_memory))
      value = add_copy(graph_, value, type);
    graph_.outputs.push_back({value, ir::OutputRole::UserOutput, {}, -1});
    return {static_cast<int32_t>(graph_.outputs.size()) - 1, {}};
  }

 private:
  ir::Graph& graph_;
  std::vector<BackwardPlan::Argument> arguments_;
};

/// Removes inputs that nothing reads.
void drop_unread(ir::Graph& graph, std::vector<BackwardPlan::Argument>& arguments) {
  ir::PerValue<bool> read(graph.values.size());
  for (const auto& node : graph.nodes) ir::for_each_input(node, [&](ir::ValueId v) { read[v] = true; });
  for (const auto& output : graph.outputs) read[output.value] = true;
  std::vector<BackwardPlan::Argument> kept;
  std::vector<ir::Input> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!read[graph.inputs[i].value]) continue;
    kept.push_back(arguments[i]);
    inputs.push_back(graph.inputs[i]);
  }
  arguments = std::move(kept);
  graph.inputs = std::move(inputs);
}

}  // namespace

BodyPlan plan_body(const CaptureSettings& settings, const BodyUse& use) {
  return BodyPlanner(settings, use).run();
}

BackwardPlan plan_backward(const BodyPlan& body, const RegionDerivative& derivative,
                           const std::vector<ir::TensorType>& types) {
  const auto tangents = body.backward.inputs.size() - body.saved.size();
  const auto gradients = body.reached_by.size();
  runtime::BackwardCase which(gradients + tangents, false);
  for (const auto i : derivative.operands)
    if (const auto gradient = body.gradient_of[i]; gradient >= 0) which[gradient] = true;
  std::vector<int32_t> result_of(tangents, -1);
  for (const auto k : derivative.results) {
    const auto tangent = body.tangent_of[k];
    if (tangent < 0) continue;
    which[gradients + static_cast<size_t>(tangent)] = true;
    result_of[tangent] = static_cast<int32_t>(k);
  }
  auto graph = runtime::specialize(body.backward, body.reached_by, which);
  graph.stage = ir::Stage::Functional;
  BackwardPlan plan;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    graph.inputs[i].role = ir::InputRole::UserInput;
    if (i < body.saved.size())
      plan.arguments.push_back({static_cast<int32_t>(i), -1});
    else
      plan.arguments.push_back({-1, result_of[i - body.saved.size()]});
  }
  const auto computed = std::exchange(graph.outputs, {});
  Gradients outputs(graph, plan.arguments);
  for (size_t n = 0; n < derivative.operands.size(); ++n) {
    const auto gradient = body.gradient_of[derivative.operands[n]];
    plan.gradients.push_back(outputs.add(gradient >= 0 ? computed[gradient].value : ir::ValueId(), types[n]));
  }
  drop_unread(graph, plan.arguments);
  graph.compact();
  ir::verify(graph);
  if (!graph.outputs.empty()) plan.graph = std::make_shared<const ir::Graph>(std::move(graph));
  return plan;
}

}  // namespace antegrad::compiler
