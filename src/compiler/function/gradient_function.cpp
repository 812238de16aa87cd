#include "compiler/function/gradient_function.h"

#include <ATen/core/NamedTensor.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "capture/backward.h"
#include "capture/mode.h"
#include "compiler/code/reach.h"
#include "compiler/regions/region.h"
#include "runtime/instructions.h"

namespace antegrad::compiler {
namespace {

Options options_for(const Options& options) {
  auto own = options;
  own.name += "_gradients";
  own.unsupported = Unsupported::Error;
  own.check_recapture = false;
  own.compile = Compile::Blocking;  // nothing could run instead …
  own.compile_all_sizes = true;     // … at new sizes either
  own.dynamic_sizes.clear();        // they refer to the function's own arguments
  own.freeze = false;
  own.watch.clear();  // each version has its own gradient function, valid for the state of its modules
  return own;
}

Placeholder placeholder_of(const at::Tensor& tensor, int32_t same_as) {
  Placeholder argument;
  argument.defined = tensor.defined();
  argument.same_as = same_as;
  if (!argument.defined) return argument;
  argument.sizes = tensor.sizes().vec();
  argument.strides = tensor.strides().vec();
  argument.offset = tensor.storage_offset();
  argument.options = tensor.options();
  argument.requires_grad = tensor.requires_grad();
  argument.is_leaf = tensor.is_leaf();
  return argument;
}

}  // namespace

at::Tensor Placeholder::make() const {
  if (!defined) return {};
  aten::BelowRecording below;
  at::Tensor tensor;
  if (reach > 0) {
    const auto item = static_cast<int64_t>(options.dtype().itemsize());
    tensor = at::zeros({offset + (reach + item - 1) / item}, options).as_strided(sizes, strides, offset);
  } else {
    tensor = runtime::empty_with_offset(sizes, strides, offset, options).zero_();
  }
  if (requires_grad && is_leaf) tensor.set_requires_grad(true);
  if (requires_grad && !is_leaf) capture::give_history(tensor);
  return tensor;
}

void add_gradient_arguments(const std::vector<Placeholder>& arguments, const std::vector<at::Tensor>& primals,
                            const std::vector<at::Tensor>& tangents, Leaves& leaves) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    const bool known = i < primals.size() && primals[i].defined();
    leaves.tensors.push_back(argument.same_as >= 0 ? leaves.tensors[argument.same_as]
                             : known               ? primals[i]
                                                   : argument.make());
  }
  for (const auto& tangent : tangents) leaves.tensors.push_back(tangent);
}

struct GradientFunction::Recipe {
  std::string name;
  detail::OwnedRun run;
  std::string fingerprint;             ///< of the forward pass …
  std::function<ir::Graph()> forward;  ///< … or, if it is set, what returns the pass itself
  runtime::Ambient ambient;
  std::vector<Placeholder> arguments;
  Leaves numbers;                ///< of the call, without its tensors: versions differ in them
  std::vector<int32_t> targets;  ///< per gradient: the input it belongs to
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> lifted;
  std::vector<size_t> gained;  ///< of `lifted`, those that the call gave a history

  /// Whether the primals have the sizes that the fingerprint was taken at; differential tracing also uses
  /// others.
  bool has_own_sizes(const std::vector<at::Tensor>& primals) const {
    for (size_t i = 0; i < arguments.size(); ++i)
      if (primals[i].defined() && primals[i].sizes() != at::IntArrayRef(arguments[i].sizes)) return false;
    return true;
  }
  /// Whether the function has done the same as in the call.
  bool is_same(const ir::Graph& graph) const {
    const auto now = capture::fingerprint(graph, graph.nodes.size());
    if (!forward) return now == fingerprint;
    const auto before = forward();
    return now == capture::fingerprint(before, before.nodes.size());
  }
  void take_histories_off(capture::Recorder& recorder) const;
  detail::Outcome run_gradients(const std::vector<at::Tensor>& fakes) const;
  at::Tensor gradient_of(int32_t input, const std::vector<capture::GradTarget>& targets,
                         const std::vector<at::Tensor>& gradients) const;
};

std::shared_ptr<detail::Function> GradientFunction::make_function(const Options& options) {
  return std::make_shared<detail::Function>(options_for(options), false);
}

GradientFunction::GradientFunction(std::shared_ptr<detail::Function> function, const std::string& name,
                                   const Call& call, const capture::Trace& trace,
                                   std::vector<int32_t> targets)
    : function_(std::move(function)) {
  auto recipe = std::make_shared<Recipe>();
  recipe->name = name;
  recipe->run = call.keep();
  recipe->fingerprint = trace.fingerprint;
  recipe->forward = trace.forward;
  recipe->ambient = call.ambient;
  recipe->numbers.key = call.leaves.key;
  recipe->numbers.numbers = call.leaves.numbers;
  for (size_t i = 0; i < call.leaves.tensors.size(); ++i)
    recipe->arguments.push_back(placeholder_of(call.leaves.tensors[i], trace.duplicate_of[i]));
  for (const auto& reach : reach_of(trace.graph))
    if (std::cmp_less(reach.input, recipe->arguments.size()))
      recipe->arguments[reach.input].reach = reach.bytes;
  recipe->targets = std::move(targets);
  for (const auto& lifted : trace.lifted) {
    const auto& end = trace.inputs[trace.user_inputs + recipe->lifted.size()].end;
    if (end.history_changed && !end.required_grad) recipe->gained.push_back(recipe->lifted.size());
    recipe->lifted.emplace_back(lifted.tensor.getIntrusivePtr());
  }
  recipe_ = std::move(recipe);
}

at::Tensor GradientFunction::Recipe::gradient_of(int32_t input, const std::vector<capture::GradTarget>& found,
                                                 const std::vector<at::Tensor>& gradients) const {
  const auto number = input - static_cast<int32_t>(arguments.size());
  const auto& outsiders = capture::active_recorder()->outside().all();
  for (size_t t = 0; t < found.size(); ++t) {
    if (number < 0 && found[t].input == input) return gradients[t];
    if (number < 0 || found[t].outsider < 0) continue;
    const auto& outsider = *outsiders[found[t].outsider];
    if (outsider.tensor.unsafeGetTensorImpl() == lifted[number]._unsafe_get_target()) return gradients[t];
  }
  return {};
}

/// Takes off the histories that captured tensors have by now because the call wrote to them: the call met
/// them without. The capture puts them back at its end.
void GradientFunction::Recipe::take_histories_off(capture::Recorder& recorder) const {
  std::vector<capture::Outsider*> outsiders;
  for (const auto number : gained) {
    const auto alive = lifted[number].lock();
    if (!alive) continue;
    const at::Tensor tensor(alive);
    recorder.value_of(tensor);  // from here on the capture knows the state that it restores
    outsiders.push_back(recorder.outside().find(tensor));
  }
  const auto take_off = [](const at::Tensor& tensor) {
    auto* meta = tensor.defined() ? torch::autograd::impl::get_autograd_meta(tensor) : nullptr;
    if (meta == nullptr) return;
    meta->grad_fn_.reset();
    meta->output_nr_ = 0;
  };
  for (auto* outsider : outsiders) {
    outsider->requires_grad = outsider->is_set_to_require_grad;
    take_off(outsider->tensor);
    take_off(outsider->base);
  }
}

/// Called within a capture: runs the function, then autograd's engine over its graph.
detail::Outcome GradientFunction::Recipe::run_gradients(const std::vector<at::Tensor>& fakes) const {
  auto& recorder = *capture::active_recorder();
  const auto middle = fakes.begin() + static_cast<int64_t>(arguments.size());
  const std::vector<at::Tensor> primals(fakes.begin(), middle);
  const std::vector<at::Tensor> tangents(middle, fakes.end());
  std::vector<at::Tensor> own;
  std::vector<torch::autograd::Edge> edges;
  for (size_t i = 0; i < arguments.size(); ++i) {
    own.push_back(arguments[i].same_as < 0 ? primals[i] : at::Tensor());
    edges.push_back(capture::edge_of_input(own.back()));
  }
  take_histories_off(recorder);
  std::vector<at::Tensor> outputs;
  {
    const c10::AutoGradMode as_in_the_call(ambient.grad_mode);
    outputs = run(primals).tensors;
  }
  recorder.unfollow();
  if (has_own_sizes(primals) && !is_same(recorder.graph()))
    throw Error(ErrorCode::GraphChanged, "backward",
                fmt::format("'{}' does something else than when its result was computed", name),
                "Do not change modules or captured variables between a call and its backward(create_graph)");
  // What the forward pass did to the outside was done by the call whose gradients these are.
  for (auto& node : recorder.graph().nodes) {
    if (node.outputs.empty() && node.effects.writes.empty()) node.effects = {};
    node = without_effects(std::move(node));
  }
  for (const auto& output : outputs)
    if (output.defined()) recorder.value_of(output);  // also lifts a captured tensor that is only returned
  auto roots = capture::find_roots(recorder, own, edges, outputs);
  if (roots.size() != tangents.size())
    throw Error(ErrorCode::GraphChanged, "backward",
                fmt::format("'{}' has {} differentiable results at these sizes, not {}", name, roots.size(),
                            tangents.size()),
                "Do not change modules or captured variables between a call and its backward(create_graph)");
  std::vector<capture::GradRoot> given_roots;
  std::vector<at::Tensor> given;
  for (size_t k = 0; k < roots.size(); ++k)
    if (tangents[k].defined()) {
      given_roots.push_back(roots[k]);
      given.push_back(tangents[k]);
    }
  const auto found = capture::find_targets(recorder, own, edges);
  const auto gradients = capture::run_backward(recorder, given_roots, given, found, true);
  detail::Outcome outcome;
  for (auto input : targets) outcome.tensors.push_back(gradient_of(input, found, gradients));
  return outcome;
}

const std::vector<Placeholder>& GradientFunction::arguments() const { return recipe_->arguments; }
const Leaves& GradientFunction::numbers() const { return recipe_->numbers; }
const runtime::Ambient& GradientFunction::ambient() const { return recipe_->ambient; }

Leaves GradientFunction::leaves_of(const std::vector<at::Tensor>& primals,
                                   const std::vector<at::Tensor>& tangents) const {
  Leaves leaves = recipe_->numbers;
  add_gradient_arguments(recipe_->arguments, primals, tangents, leaves);
  return leaves;
}

std::vector<at::Tensor> GradientFunction::gradients(const std::vector<at::Tensor>& primals,
                                                    const std::vector<at::Tensor>& tangents) {
  runtime::AmbientGuard guard(recipe_->ambient);
  const auto run = [recipe = recipe_](const std::vector<at::Tensor>& fakes) {
    return recipe->run_gradients(fakes);
  };
  const auto keep = [&]() -> detail::OwnedRun { return run; };
  return function_->call(leaves_of(primals, tangents), run, keep).tensors;
}

void GradientFunction::prepare(const std::vector<runtime::TangentType>& types, bool with_histories) const {
  const runtime::AmbientGuard guard(recipe_->ambient);
  const c10::AutoGradMode as_in_backward(true);  // with create_graph
  const at::NoNamesGuard as_in_engine;
  std::vector<at::Tensor> tangents;
  for (const auto& type : types) {
    tangents.push_back(at::empty_strided(type.sizes, type.strides, type.options).zero_());
    if (with_histories) capture::give_history(tangents.back());
  }
  const auto run = [recipe = recipe_](const std::vector<at::Tensor>& fakes) {
    return recipe->run_gradients(fakes);
  };
  const auto keep = [&]() -> detail::OwnedRun { return run; };
  function_->explain(leaves_of({}, tangents), run, keep);
}

}  // namespace antegrad::compiler
