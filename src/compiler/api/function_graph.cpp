#include "compiler/api/function_graph.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "antegrad/error.h"
#include "capture/fake.h"
#include "compiler/api/environment.h"
#include "compiler/api/export_graph.h"
#include "compiler/code/differential.h"
#include "compiler/code/kept.h"
#include "compiler/function/version_guards.h"
#include "ir/substitute.h"
#include "symbolic/shapes.h"

namespace antegrad::compiler {
namespace {

using Gradients = ExportWanted::Gradients;

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
Arguments separate(c10::ArrayRef<at::Tensor> tensors) {
  Arguments arguments;
  for (const auto& tensor : tensors) {
    const auto first = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const at::Tensor& other) { return other.is_same(tensor); });
    const auto place = static_cast<int32_t>(first - tensors.begin());
    const bool again = tensor.defined() && std::cmp_less(place, arguments.tensors.size());
    arguments.same_as.push_back(again ? place : -1);
    const auto own = again ? another_object(tensor) : tensor;
    arguments.tensors.push_back(own.defined() ? own.resolve_conj().resolve_neg() : own);
  }
  return arguments;
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

/// Captures the function for these arguments.
Captured capture_for_export(const Options& options, bool gradients, const Arguments& arguments,
                            const detail::RunForExport& run) {
  const ModuleState modules(options.watch);
  capture::CaptureOptions capture_options;
  capture_options.name = options.name;
  capture_options.gradients = gradients;
  capture_options.name_of_lifted = [&](const at::Tensor& tensor) { return modules.name_of(tensor); };
  capture_options.fill_kept = fill_kept;
  Captured captured;
  captured.inputs = arguments.tensors;
  captured.trace = capture::capture(
      [&](const std::vector<at::Tensor>& fakes) {
        auto results = run(fakes);
        // Views, arguments and repeated results get their own memory and history, and so their own tangent.
        for (auto& result : results)
          if (result.defined()) result = result.clone();
        return results;
      },
      arguments.tensors, capture_options);
  set_roles_of_modules(options, captured.trace);
  check_exportable(captured.trace, arguments.same_as);
  captured.functional = aot::functionalize(captured.trace);
  return captured;
}

void check_gradients(const capture::Trace& trace, bool required) {
  for (const auto& tangent : trace.tangents)
    if (tangent.error) std::rethrow_exception(tangent.error);
  if (required && !trace.differentiable)
    throw Error(ErrorCode::InvalidArgument, "export", "no result of the function needs a gradient",
                "Use export_inference(), or arguments or parameters that require gradients");
}

// --- sizes as symbols

[[noreturn]] void refuse_sizes(const std::string& fact) {
  throw Error(
      ErrorCode::InvalidArgument, "export", fact,
      "Leave that size out of Options::dynamic_sizes, restrict its range, or give an example of another "
      "size");
}

/// Finds the graph of a function over the sizes that the options mark as dynamic, and makes sure of it: user
/// code computes with plain integers, and there is no capture at each new size that would detect a wrong
/// guess.
class SymbolicExport {
 public:
  SymbolicExport(const Captured& now, const Options& options, const Leaves& leaves,
                 const CaptureAt& capture_at)
      : now_(now), options_(options), call_(shapes_of(leaves.tensors)), capture_at_(capture_at) {}

  ir::Graph run() {
    const auto wanted = symbolic::generalize({call_}, marks_of(options_), false);
    if (!wanted.dynamic()) return without_input_offsets(now_);
    if (must_keep_sizes(now_))
      refuse_sizes(
          "arguments share memory, or are lazily conjugated or negated: their sizes cannot be symbols");
    auto found = generalize(now_, wanted, {call_}, capture_at_);
    for (const auto& [what, reason] : found.pinned)
      refuse_sizes(fmt::format("{} cannot be a symbol: {}", what, reason));
    for (size_t t = 0; t < wanted.tensors.size(); ++t)
      for (size_t d = 0; d < wanted.tensors[t].sizes.size(); ++d)
        if (!(found.shapes.tensors[t].sizes[d] == wanted.tensors[t].sizes[d]))
          refuse_sizes(fmt::format("the graph holds for tensor {} size {} only as {}", t, d,
                                   found.shapes.tensors[t].sizes[d].to_string()));
    check(found);
    return std::move(found.graph);
  }

 private:
  /// Whether the function has the graph that was found at these values of the symbols as well.
  bool holds(const Generalized& found, const std::vector<int64_t>& values) const {
    return without_input_offsets(capture_at_(found.shapes.at(values))) == ir::substitute(found.graph, values);
  }
  void check_at(const Generalized& found, const std::vector<int64_t>& values) const {
    std::string sizes, reason;
    for (size_t s = 0; s < values.size(); ++s)
      sizes +=
          fmt::format("{}{} {}", s > 0 ? ", " : "", found.shapes.name_of(static_cast<int32_t>(s)), values[s]);
    try {
      if (holds(found, values)) return;
      reason = "the function has another graph";
    } catch (const std::exception& error) {
      reason = std::string("the function throws: ") + capture::text_of(error);
    }
    refuse_sizes(fmt::format("sizes cannot be symbols: with {} {}", sizes, reason));
  }

  void check(Generalized& found) const {
    const auto& symbols = found.shapes.symbols;
    const auto samples = symbolic::assignments(found.shapes, kMostSamples + kMoreSamples);
    for (size_t k = kMostSamples; k < samples.size(); ++k) check_at(found, samples[k]);
    // The samples are mostly prime and distinct, but sizes that are equal, or have divisors, may be special.
    for (const int64_t value : {6, 8, 9, 10, 12, 25, 32, 49, 64, 96, 100}) {
      std::vector<int64_t> equal;
      for (const auto& [range, hint] : symbols) equal.push_back(std::clamp(value, range.lower, range.upper));
      check_at(found, equal);
    }
    for (size_t s = 0; s < symbols.size(); ++s) check_smallest(found, s);
  }

  /// Sizes 0 and 1 often are special. They are left out of the range where they are.
  void check_smallest(Generalized& found, size_t symbol) const {
    auto& lower = found.graph.symbols[symbol].range.lower;
    const auto given = lower;
    for (int64_t value = 1; value >= given; --value) {
      auto values = found.shapes.hints();
      values[symbol] = value;
      bool same = false;
      try {
        same = holds(found, values);
      } catch (const std::exception&) {
        // The function need not work at this size.
      }
      if (same) continue;
      lower = value + 1;
      return;
    }
  }

  static constexpr size_t kMoreSamples = 3;
  const Captured& now_;
  const Options& options_;
  const symbolic::CallShapes call_;
  const CaptureAt& capture_at_;
};

}  // namespace

FunctionGraph graph_of_function(const Options& given, const ExportWanted& wanted, const Leaves& leaves,
                                const detail::RunForExport& run) {
  if (detail::capturing())
    throw Error(ErrorCode::UnsupportedOp, "export", "a function is exported inside a captured function",
                "Export it outside");
  const auto options = with_environment(given);
  const bool gradients = wanted.gradients != Gradients::None;
  c10::AutoGradMode grad_mode(gradients);
  auto captured = capture_for_export(options, gradients, separate(leaves.tensors), run);
  if (gradients) check_gradients(captured.trace, wanted.gradients == Gradients::Required);
  check_offsets(captured.trace, captured.functional.signature);
  const CaptureAt capture_at = [&](const symbolic::CallShapes& shapes) {
    return capture_for_export(options, gradients, separate(stand_ins(leaves, shapes)), run);
  };
  if (wanted.dynamic) captured.functional.graph = SymbolicExport(captured, options, leaves, capture_at).run();
  FunctionGraph out{
      make_export_graph(captured.trace, std::move(captured.functional)), {}, captured.trace.differentiable};
  run_passes(options, true, has_lazy_bits(captured.trace), Rng::Eager, out.graph);
  for (size_t k = 0; k < captured.trace.lifted.size(); ++k)
    out.lifted.emplace_back(out.graph.inputs[captured.trace.user_inputs + k].name,
                            captured.trace.lifted[k].tensor);
  return out;
}

}  // namespace antegrad::compiler
