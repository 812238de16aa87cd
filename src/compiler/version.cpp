#include "compiler/version.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aot/functionalize.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace antegrad::compiler {
namespace {

capture::Trace trace(const Options& options, const Leaves& leaves, const ModuleState* modules,
                     const detail::RunOnTensors& run, std::shared_ptr<const void>& pattern) {
  capture::CaptureOptions capture_options;
  capture_options.name = options.name;
  if (modules != nullptr)
    capture_options.name_of_lifted = [modules](const at::Tensor& tensor) { return modules->name_of(tensor); };
  return capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        auto outcome = run(fakes);
        pattern = std::move(outcome.pattern);
        return std::move(outcome.tensors);
      },
      {leaves.tensors.begin(), leaves.tensors.end()}, capture_options);
}

void check_no_gradients(const capture::Trace& trace) {
  std::string what;
  for (size_t k = 0; k < trace.output_ends.size() && what.empty(); ++k)
    if (trace.output_ends[k].has_grad_fn) what = fmt::format("output {} requires gradients", k);
  for (size_t i = 0; i < trace.input_ends.size() && what.empty(); ++i)
    if (trace.input_ends[i].has_grad_fn)
      what = fmt::format("the in-place change of input '{}' requires gradients", trace.graph.inputs[i].name);
  if (!what.empty())
    throw Error(ErrorCode::NeedsGrad, "compile", what + ", and compiled functions have no backward pass yet",
                "Call it under torch::NoGradGuard, or set Options::unsupported to Eager");
}

bool has_lazy_bits(const capture::Trace& trace) {
  for (auto bits : trace.input_bits)
    if (bits != 0) return true;
  return std::any_of(trace.graph.nodes.begin(), trace.graph.nodes.end(), [](const ir::Node& node) {
    return node.op == "aten._conj" || node.op == "aten._neg_view";
  });
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

Version::Version(const Options& options, const Leaves& leaves)
    : key_(leaves.key.begin(), leaves.key.end()), ambient_(runtime::Ambient::now()) {
  for (const auto& tensor : leaves.tensors) guards_.emplace_back(tensor);
  if (!options.watch.empty()) modules_ = std::make_unique<ModuleState>(options.watch);
}

std::shared_ptr<const Version> Version::eager(const Options& options, const Leaves& leaves) {
  return std::shared_ptr<const Version>(new Version(options, leaves));
}

std::shared_ptr<const Version> Version::capture(const Options& options, const Leaves& leaves,
                                                const detail::RunOnTensors& run,
                                                std::vector<at::Tensor>& alive) {
  std::shared_ptr<Version> version(new Version(options, leaves));
  auto traced = trace(options, leaves, version->modules_.get(), run, version->pattern_);
  check_no_gradients(traced);
  if (options.verify) ir::verify(traced.graph);
  if (options.check_recapture) version->traced_text_ = ir::print(traced.graph);
  auto functional = aot::functionalize(traced);
  passes::PipelineOptions pipeline;
  pipeline.disabled = options.disabled_passes;
  pipeline.verify = options.verify;
  // Types do not say which tensors are conjugated or negated when read, so a copy that resolves it looks like
  // a no-op.
  if (has_lazy_bits(traced)) pipeline.disabled.emplace_back("remove_noop");
  passes::run_pipeline(functional.graph, passes::default_pipeline(), pipeline);
  check_changed_inputs(functional.signature, leaves, traced);
  for (const auto& tensor : leaves.tensors)
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
  version->caller_ = std::make_unique<runtime::Caller>(
      std::move(functional.signature), std::make_shared<runtime::Executable>(version->graph_));
  return version;
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
  return ir::print(trace(options, leaves, &modules, run, pattern).graph);
}

}  // namespace antegrad::compiler
