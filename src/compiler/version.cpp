#include "compiler/version.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aot/functionalize.h"
#include "compiler/gradient_function.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "partition/partition.h"
#include "passes/pipeline.h"
#include "passes/unread_statistics.h"

namespace antegrad::compiler {
namespace {

capture::Trace trace(const CaptureSettings& settings, const std::vector<at::Tensor>& inputs,
                     std::vector<capture::ViewInput> views, const ModuleState* modules,
                     const detail::RunOnTensors& run, std::shared_ptr<const void>& pattern) {
  capture::CaptureOptions capture_options;
  capture_options.name = settings.options.name;
  capture_options.gradients = true;
  capture_options.effects = settings.effects;
  capture_options.views = std::move(views);
  if (modules != nullptr)
    capture_options.name_of_lifted = [modules](const at::Tensor& tensor) { return modules->name_of(tensor); };
  return capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        auto outcome = run(fakes);
        pattern = std::move(outcome.pattern);
        return std::move(outcome.tensors);
      },
      inputs, capture_options);
}

/// The state of fused random ops is an input that each call fills by itself.
void take_rng_input(aot::FunctionalGraph& functional) {
  auto& [graph, signature] = functional;
  const auto is_state = [](const ir::Input& input) { return input.role == ir::InputRole::RngState; };
  if (std::none_of(graph.inputs.begin(), graph.inputs.end(), is_state)) return;
  auto& steps = signature.steps;
  steps.insert(steps.begin(), aot::TakeRngState{signature.slots});
  signature.graph_inputs.push_back(signature.slots++);
}

/// The caller's inputs that some gradient depends on.
std::vector<int32_t> primals_of(const ir::Graph& joint, const aot::Signature& signature) {
  std::vector<bool> needed(joint.values.size());
  auto need = [&](ir::ValueId v) { needed[static_cast<size_t>(v.index)] = true; };
  for (const auto& output : joint.outputs)
    if (output.role == ir::OutputRole::Grad && output.value.valid()) need(output.value);
  for (auto node = joint.nodes.rbegin(); node != joint.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](ir::ValueId v) { return needed[static_cast<size_t>(v.index)]; });
    if (!used) continue;
    for (size_t a = 0; a < node->args.size(); ++a)
      if (!passes::is_unread_statistic(*node, a)) ir::for_each_value(node->args[a], need);
    for (const auto& attr : node->attrs) ir::for_each_value(attr.value, need);
  }
  std::vector<int32_t> primals;
  for (size_t i = 0; i < signature.graph_inputs.size(); ++i) {
    if (!needed[static_cast<size_t>(joint.inputs[i].value.index)]) continue;
    const auto slot = signature.graph_inputs[i];
    if (slot < signature.inputs)
      primals.push_back(slot);
    else if (const auto* base = aot::find_base(signature, slot))
      primals.insert(primals.end(), base->members.begin(), base->members.end());
  }
  return primals;
}

/// An argument whose shape the function changes, and which it also reaches as a captured tensor.
void check_changed_inputs(const aot::Signature& signature, const Leaves& leaves,
                          const capture::Trace& trace) {
  for (auto i : signature.changed)
    for (const auto& lifted : trace.lifted)
      if (static_cast<size_t>(i) < leaves.tensors.size() &&
          lifted.tensor.is_same(leaves.tensors[static_cast<size_t>(i)]))
        throw Error(
            ErrorCode::UnsupportedTensor, "compile",
            fmt::format(
                "the shape of argument {} changes, and the function reaches the same tensor otherwise", i),
            "Use the argument only, or pass a view of it");
}

}  // namespace

bool has_lazy_bits(const capture::Trace& trace) {
  for (auto bits : trace.input_bits)
    if (bits != 0) return true;
  return std::any_of(trace.graph.nodes.begin(), trace.graph.nodes.end(), [](const ir::Node& node) {
    return node.op == "aten._conj" || node.op == "aten._neg_view";
  });
}

void run_passes(const Options& options, const capture::Trace& trace, Rng rng, ir::Graph& graph) {
  passes::PipelineOptions pipeline;
  pipeline.disabled = options.disabled_passes;
  pipeline.verify = options.verify;
  if (has_lazy_bits(trace)) pipeline.disabled.emplace_back("remove_noop");
  auto passes = passes::default_pipeline();
  if (rng == Rng::Fused) passes.insert(passes.begin(), passes::find_pass("functional_rng"));
  passes::run_pipeline(graph, passes, pipeline);
}

Version::Version(const Options& options, const Leaves& leaves)
    : key_(leaves.key.begin(), leaves.key.end()), ambient_(runtime::Ambient::now()) {
  for (const auto& tensor : leaves.tensors) guards_.emplace_back(tensor);
  if (!options.watch.empty()) modules_ = std::make_unique<ModuleState>(options.watch);
}

std::shared_ptr<const Version> Version::eager(const Options& options, const Leaves& leaves) {
  return std::shared_ptr<const Version>(new Version(options, leaves));
}

std::shared_ptr<const Version> Version::capture(const CaptureSettings& settings, const Leaves& leaves,
                                                const detail::RunOnTensors& run, const detail::KeepRun& keep,
                                                std::vector<at::Tensor>& alive) {
  const auto& options = settings.options;
  std::shared_ptr<Version> version(new Version(options, leaves));
  std::vector<at::Tensor> inputs(leaves.tensors.begin(), leaves.tensors.end());
  auto traced = trace(settings, inputs, {}, version->modules_.get(), run, version->pattern_);
  if (options.check_recapture) version->traced_text_ = ir::print(traced.graph);
  if (const auto shared = aot::find_shared_gradients(traced); !shared.empty()) {
    std::vector<capture::ViewInput> views;
    inputs = version->share_bases(shared, inputs, views);
    traced = trace(settings, inputs, std::move(views), version->modules_.get(), run, version->pattern_);
  }
  if (options.verify) ir::verify(traced.graph);
  auto functional = aot::functionalize(traced);
  run_passes(options, traced, options.rng, functional.graph);
  take_rng_input(functional);
  check_changed_inputs(functional.signature, leaves, traced);
  for (const auto& tensor : inputs)
    version->offsets_.push_back(tensor.defined() ? tensor.storage_offset() : 0);
  for (auto& lifted : traced.lifted) {
    version->offsets_.push_back(lifted.tensor.storage_offset());
    version->lifted_.push_back({c10::weak_intrusive_ptr<c10::TensorImpl>(lifted.tensor.getIntrusivePtr()),
                                runtime::TensorGuard(lifted.tensor)});
    alive.push_back(lifted.tensor);
  }
  version->graph_ = std::move(functional.graph);
  version->shape_fallbacks_ = std::move(traced.counts.real_kernels);
  const auto& signature = functional.signature;
  version->check_aliasing_ = !signature.written.empty() || !signature.shared.empty() ||
                             !signature.fixed_offsets.empty() || !signature.same.empty() ||
                             !signature.changed.empty();
  std::shared_ptr<runtime::HigherOrder> higher_order;
  if (traced.differentiable) {
    if (traced.views.empty())
      higher_order = std::make_shared<GradientFunction>(options, keep(), leaves, traced);
    version->ignore_unread_grads(leaves, traced);
  }
  version->make_caller(settings, std::move(functional.signature), traced, std::move(higher_order));
  return version;
}

/// The views and their bases; bases that the user does not pass are appended to the inputs. Groups that are
/// no views of one tensor are left as they are, and refused.
std::vector<at::Tensor> Version::share_bases(const std::vector<std::vector<int32_t>>& groups,
                                             const std::vector<at::Tensor>& inputs,
                                             std::vector<capture::ViewInput>& views) {
  auto all = inputs;
  for (const auto& group : groups) {
    at::Tensor base;
    bool one_base = true;
    for (auto i : group) {
      if (i >= static_cast<int32_t>(inputs.size())) return inputs;  // a captured tensor
      const auto& tensor = inputs[static_cast<size_t>(i)];
      const auto own = tensor.is_view() ? tensor._base() : tensor;
      one_base = one_base && (!base.defined() || own.is_same(base));
      base = own;
    }
    if (!one_base) continue;
    SharedBase shared{{}, -1, runtime::TensorGuard(base)};
    shared.guard.ignore_grad();
    for (size_t i = 0; i < all.size() && shared.base < 0; ++i)
      if (all[i].is_same(base)) shared.base = static_cast<int32_t>(i);
    if (shared.base < 0) {
      shared.base = static_cast<int32_t>(all.size());
      all.push_back(base);
    }
    for (auto i : group) {
      if (i == shared.base) continue;
      shared.views.push_back(i);
      views.push_back({i, shared.base, {}});
    }
    bases_.push_back(std::move(shared));
  }
  return all;
}

bool Version::add_bases(Inputs& inputs) const {
  for (const auto& shared : bases_)
    for (auto i : shared.views) {
      const auto& view = inputs[static_cast<size_t>(i)];
      if (!view.is_view() || view.storage_offset() != offsets_[static_cast<size_t>(i)]) return false;
      const auto base = static_cast<size_t>(shared.base);
      if (base == inputs.size()) inputs.emplace_back(view._base());
      if (!inputs[base].is_same(view._base()) || !shared.guard.holds(inputs[base])) return false;
    }
  return true;
}

/// Training changes the .grad of leaves all the time. A function with a backward pass that reads one has
/// lifted it.
void Version::ignore_unread_grads(const Leaves& leaves, const capture::Trace& traced) {
  auto is_read = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_leaf() || !tensor.grad().defined()) return false;
    return std::any_of(traced.lifted.begin(), traced.lifted.end(),
                       [&](const auto& lifted) { return lifted.tensor.is_same(tensor.grad()); });
  };
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!is_read(leaves.tensors[i])) guards_[i].ignore_grad();
  for (size_t k = 0; k < lifted_.size(); ++k)
    if (!is_read(traced.lifted[k].tensor)) lifted_[k].guard.ignore_grad();
}

void Version::make_caller(const CaptureSettings& settings, aot::Signature signature,
                          const capture::Trace& traced, std::shared_ptr<runtime::HigherOrder> higher_order) {
  const auto& options = settings.options;
  // A kernel reads memory as it is, not what a conjugated or negated tensor stands for.
  has_kernels_ = settings.lowering->makes_kernels(graph_) && !has_lazy_bits(traced);
  runtime::MakeExecutable make = [](const ir::Graph& graph) {
    return std::make_shared<const runtime::Executable>(graph);
  };
  if (has_kernels_)
    make = [lowering = settings.lowering](const ir::Graph& graph) { return lowering->lower(graph); };
  auto lowered = graph_;
  if (has_kernels_) settings.lowering->prepare(lowered);
  if (!traced.differentiable) {
    forward_ = std::move(lowered);
    caller_ = std::make_unique<runtime::Caller>(std::move(signature), make(forward_));
    return;
  }
  partition_ = std::make_unique<partition::Partition>(
      partition::partition(lowered, options.policy, options.scope_rules,
                           {.fuses = has_kernels_, .writable_inputs = options.writable_inputs}));
  runtime::BackwardFacts facts;
  facts.primals = primals_of(graph_, signature);
  for (const auto& gradient : traced.gradients) {
    facts.reached_by.push_back(gradient.reached_by);
    facts.fails_for.push_back(gradient.fails_for);
  }
  for (const auto& tangent : traced.tangents) facts.errors.push_back(tangent.error);
  facts.higher_order = std::move(higher_order);
  if (const auto* state = std::get_if<aot::TakeRngState>(&signature.steps.front()))
    facts.rng_slot = state->slot;
  const auto& forward = partition_->forward;
  facts.draws_eagerly = std::any_of(forward.nodes.begin(), forward.nodes.end(),
                                    [](const ir::Node& node) { return node.effects.random; });
  auto backward = std::make_shared<runtime::Backward>(*partition_, signature, std::move(facts), make);
  if (options.backward_ahead) backward->compile();
  caller_ = std::make_unique<runtime::Caller>(std::move(signature), make(forward), std::move(backward));
}

bool Version::dead() const {
  for (const auto& lifted : lifted_)
    if (lifted.tensor.expired()) return true;
  return modules_ != nullptr && modules_->dead();
}

bool Version::matches(const Leaves& leaves, const runtime::Ambient& ambient, Inputs& inputs) const {
  if (leaves.tensors.size() != guards_.size() || leaves.key.size() != key_.size() ||
      !std::equal(key_.begin(), key_.end(), leaves.key.begin()) || !(ambient == ambient_))
    return false;
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!guards_[i].holds(leaves.tensors[i])) return false;
  if (modules_ != nullptr && !modules_->difference().empty()) return false;
  inputs.assign(leaves.tensors.begin(), leaves.tensors.end());
  if (!add_bases(inputs)) return false;
  for (const auto& lifted : lifted_) {
    inputs.emplace_back(lifted.tensor.lock());
    if (!inputs.back().defined() || !lifted.guard.holds(inputs.back())) return false;
  }
  return !check_aliasing_ || runtime::aliasing_failure(caller_->signature(), inputs, offsets_).empty();
}

std::string Version::mismatch(const Leaves& leaves, const runtime::Ambient& ambient) const {
  if (leaves.tensors.size() != guards_.size() || leaves.key.size() != key_.size() ||
      !std::equal(key_.begin(), key_.end(), leaves.key.begin()))
    return "a number, a string or the structure of the arguments differs";
  if (!(ambient == ambient_)) return runtime::difference(ambient_, ambient);
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!guards_[i].holds(leaves.tensors[i]))
      return fmt::format("tensor {} {}", i, guards_[i].failure(leaves.tensors[i]));
  if (modules_ != nullptr)
    if (auto what = modules_->difference(); !what.empty()) return what;
  Inputs inputs(leaves.tensors.begin(), leaves.tensors.end());
  if (!add_bases(inputs)) return "inputs are no longer the same views of one tensor";
  for (size_t k = 0; k < lifted_.size(); ++k) {
    inputs.emplace_back(lifted_[k].tensor.lock());
    if (!inputs.back().defined()) return fmt::format("captured tensor {} no longer exists", k);
    if (!lifted_[k].guard.holds(inputs.back()))
      return fmt::format("captured tensor {} {}", k, lifted_[k].guard.failure(inputs.back()));
  }
  return check_aliasing_ ? runtime::aliasing_failure(caller_->signature(), inputs, offsets_)
                         : "nothing differs";
}

std::string traced_text_now(const Options& options, const Leaves& leaves, const detail::RunOnTensors& run) {
  std::shared_ptr<const void> pattern;
  ModuleState modules(options.watch);
  const std::vector<at::Tensor> inputs(leaves.tensors.begin(), leaves.tensors.end());
  return ir::print(trace({options, true, nullptr}, inputs, {}, &modules, run, pattern).graph);
}

}  // namespace antegrad::compiler
