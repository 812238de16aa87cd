#include "antegrad/export.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include <unordered_set>

#include "antegrad/error.h"
#include "compiler/api/environment.h"
#include "compiler/api/export_graph.h"
#include "compiler/api/runnable_graph.h"
#include "compiler/code/captured.h"
#include "compiler/code/kept.h"
#include "compiler/code/watch.h"
#include "ir/text.h"

namespace antegrad {

struct Exported::Impl {
  explicit Impl(ir::Graph exported) : runnable(std::move(exported)), text(ir::print(runnable.graph())) {}

  compiler::RunnableGraph runnable;
  std::string text;
  std::vector<std::pair<std::string, at::Tensor>> lifted;
};

namespace {

// --- capturing

struct Arguments {
  std::vector<at::Tensor> tensors;
  std::vector<int32_t> same_as;  ///< an earlier argument that is the same tensor, or -1
};

/// Returns another tensor object with the same memory and the same autograd state.
at::Tensor another_object(const at::Tensor& tensor) {
  c10::AutoGradMode grad_mode(true);
  if (tensor.requires_grad() && !tensor.is_leaf()) return tensor.alias();
  return tensor.detach().set_requires_grad(tensor.requires_grad());
}

/// An exported graph takes each argument separately, even when the example passes one tensor twice.
Arguments separate(const Leaves& leaves) {
  Arguments arguments;
  for (const auto& tensor : leaves.tensors) {
    const auto first = std::find_if(leaves.tensors.begin(), leaves.tensors.end(),
                                    [&](const at::Tensor& other) { return other.is_same(tensor); });
    const auto place = static_cast<int32_t>(first - leaves.tensors.begin());
    const bool again = tensor.defined() && static_cast<size_t>(place) < arguments.tensors.size();
    arguments.same_as.push_back(again ? place : -1);
    const auto own = again ? another_object(tensor) : tensor;
    arguments.tensors.push_back(own.defined() ? own.resolve_conj().resolve_neg() : own);
  }
  return arguments;
}

capture::Trace trace_for_export(const Options& options, detail::ExportKind kind, const Arguments& arguments,
                                const detail::RunForExport& run) {
  const compiler::ModuleState modules(options.watch);
  capture::CaptureOptions capture_options;
  capture_options.name = options.name;
  capture_options.gradients = kind == detail::ExportKind::Joint;
  capture_options.name_of_lifted = [&](const at::Tensor& tensor) { return modules.name_of(tensor); };
  capture_options.fill_kept = compiler::fill_kept;
  return capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        auto results = run(fakes);
        // Views, arguments and repeated results get their own memory and history, and so their own tangent.
        for (auto& result : results)
          if (result.defined()) result = result.clone();
        return results;
      },
      arguments.tensors, capture_options);
}

/// Gives watched parameters the role Param even when they require no gradient.
void set_roles_of_modules(const Options& options, capture::Trace& trace) {
  std::unordered_set<const c10::TensorImpl*> parameters;
  for (const auto& module : options.watch)
    if (module)
      for (const auto& parameter : module->parameters()) parameters.insert(parameter.unsafeGetTensorImpl());
  for (size_t k = 0; k < trace.lifted.size(); ++k)
    if (parameters.count(trace.lifted[k].tensor.unsafeGetTensorImpl()) > 0)
      trace.graph.inputs[trace.user_inputs + k].role = ir::InputRole::Param;
}

void check_gradients(const capture::Trace& trace) {
  for (const auto& tangent : trace.tangents)
    if (tangent.error) std::rethrow_exception(tangent.error);
  if (!trace.differentiable)
    throw Error(ErrorCode::InvalidArgument, "export", "no result of the function needs a gradient",
                "Use export_inference(), or arguments or parameters that require gradients");
}

}  // namespace

Exported Exported::parse(std::string_view graph) {
  return Exported(std::make_shared<const Impl>(compiler::RunnableGraph::parse(graph)));
}

const std::string& Exported::graph() const { return impl_->text; }
const GraphSignature& Exported::signature() const { return impl_->runnable.signature(); }
const std::vector<std::pair<std::string, at::Tensor>>& Exported::lifted() const { return impl_->lifted; }

std::vector<at::Tensor> Exported::run(std::vector<at::Tensor> inputs) const {
  const auto& graph = impl_->runnable.graph();
  if (detail::capturing())
    throw Error(ErrorCode::UnsupportedOp, "export:run", "an exported graph runs inside a captured function",
                "Call the function that was exported instead");
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorCode::InvalidArgument, "export:run",
                fmt::format("{} tensors were given where the graph has {} inputs", inputs.size(),
                            graph.inputs.size()),
                "GraphSignature::print() lists them");
  return impl_->runnable.run(std::move(inputs), "export:run");
}

Exported detail::export_graph(const Options& given, ExportKind kind, const Leaves& leaves,
                              const RunForExport& run) {
  if (capturing())
    throw Error(ErrorCode::UnsupportedOp, "export", "a function is exported inside a captured function",
                "Export it outside");
  const auto options = compiler::with_environment(given);
  const bool joint = kind == ExportKind::Joint;
  c10::AutoGradMode grad_mode(joint);
  const auto arguments = separate(leaves);
  auto traced = trace_for_export(options, kind, arguments, run);
  set_roles_of_modules(options, traced);
  compiler::check_exportable(traced, arguments.same_as);
  if (joint) check_gradients(traced);
  auto graph = compiler::make_export_graph(traced);
  compiler::run_passes(options, true, compiler::has_lazy_bits(traced), Rng::Eager, graph);
  auto impl = std::make_shared<Exported::Impl>(std::move(graph));
  for (size_t k = 0; k < traced.lifted.size(); ++k)
    impl->lifted.emplace_back(impl->runnable.graph().inputs[traced.user_inputs + k].name,
                              traced.lifted[k].tensor);
  return Exported(std::move(impl));
}

}  // namespace antegrad
