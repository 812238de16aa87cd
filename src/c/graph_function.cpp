#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "aot/aliasing.h"
#include "c/callable.h"
#include "capture/below_recording.h"
#include "capture/convert.h"
#include "compiler/api/environment.h"
#include "compiler/api/graph_signature.h"
#include "compiler/code/driver.h"
#include "compiler/code/lowering.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::c {
namespace {

using Tensors = std::vector<at::Tensor>;
using InputKind = GraphSignature::InputKind;
using OutputKind = GraphSignature::OutputKind;

/// Returns the given tensor with the strides that the graph was captured for.
at::Tensor fit(const at::Tensor& given, const ir::Input& input, const ir::Type& wanted) {
  const auto* type = wanted.tensor();
  const ir::Type found(capture::type_of(given, given.device()));
  if (type == nullptr || found.tensor()->dtype != type->dtype || found.tensor()->sizes != type->sizes)
    throw Error(ErrorCode::InvalidArgument, "c:call",
                fmt::format("input '{}' is {} where the graph takes {}", input.name, ir::print(found),
                            ir::print(wanted)),
                "Pass what the function was exported for, or export it again");
  if (found.tensor()->strides == type->strides) return given;
  // Nothing can be copied into an expanded layout; row-major memory takes every view that such a layout
  // takes.
  if (aot::overlaps_itself(*type)) return given.contiguous();
  auto copy = at::empty_strided(capture::constants(type->sizes), capture::constants(type->strides),
                                capture::options_of(*type));
  return copy.copy_(given);
}

/// Compiles the whole graph, including the backward pass of a joint graph.
class GraphFunction : public antegrad_function {
 public:
  GraphFunction(ir::Graph graph, const Options& options)
      : graph_(std::move(graph)), signature_(compiler::signature_of(graph_)) {
    const compiler::Lowering lowering(options);
    if (lowering.makes_kernels(graph_)) {
      auto prepared = graph_;
      lowering.prepare(prepared);
      executable_ = compiler::lower(lowering, prepared)->at({});
    } else {
      executable_ = std::make_shared<const runtime::Executable>(graph_);
    }
  }

  Tensors call(Tensors inputs) const override {
    const auto results = run(inputs, /*tangent=*/0);
    Tensors out;
    for (size_t i = 0; i < results.size(); ++i)
      if (signature_.outputs[i].kind == OutputKind::User) out.push_back(results[i]);
    return out;
  }

  ValueAndGradients value_and_gradients(Tensors inputs, const std::vector<int64_t>& wanted) const override {
    const auto value_place = place_of_value();
    const auto results = run(inputs, /*tangent=*/1);
    ValueAndGradients out{results[value_place], {}};
    if (out.value.numel() != 1)
      throw Error(ErrorCode::InvalidArgument, "c:gradients",
                  c10::str("the graph returns a tensor of sizes ", out.value.sizes()),
                  "Only a function that returns one tensor of one element has a gradient here");
    for (const auto place : wanted) {
      const auto& like = inputs[place];
      const auto& gradient = results[place_of_gradient(place)];
      out.gradients.push_back(gradient.defined() ? gradient : at::zeros(like.sizes(), like.options()));
    }
    return out;
  }

 private:
  /// `inputs` are all inputs but the tangents, which are filled with `tangent`.
  Tensors run(const Tensors& inputs, double tangent) const {
    capture::BelowRecording below;
    Tensors all, results;
    size_t next = 0;
    const auto tangents = signature_.names(InputKind::Tangent).size();
    if (inputs.size() + tangents != graph_.inputs.size())
      throw Error(ErrorCode::InvalidArgument, "c:call",
                  fmt::format("{} inputs were given where the graph has {}", inputs.size(),
                              graph_.inputs.size() - tangents),
                  "Pass arguments, parameters and buffers in the order of the graph's text");
    for (const auto& input : graph_.inputs) {
      const auto& type = graph_.type_of(input.value);
      const auto* tensor = type.tensor();
      if (input.role != ir::InputRole::Tangent)
        all.push_back(fit(inputs[next++], input, type));
      else if (tensor != nullptr)
        all.push_back(at::empty_strided(capture::constants(tensor->sizes),
                                        capture::constants(tensor->strides), capture::options_of(*tensor))
                          .fill_(tangent));
      else
        all.emplace_back();
    }
    executable_->run(all, results);
    return results;
  }

  size_t place_of_value() const {
    const auto values = signature_.names(OutputKind::User);
    if (signature_.names(InputKind::Tangent).size() != 1 || values.size() != 1)
      throw Error(ErrorCode::NeedsGrad, "c:gradients",
                  fmt::format("the graph has {} results and {} tangents", values.size(),
                              signature_.names(InputKind::Tangent).size()),
                  "Export a function of one result with export_joint()");
    return signature_.output(values[0]);
  }

  /// `place` counts the inputs that are not tangents.
  size_t place_of_gradient(size_t place) const {
    std::vector<std::string> names;
    for (const auto& input : signature_.inputs)
      if (input.kind != InputKind::Tangent) names.push_back(input.name);
    for (size_t i = 0; i < signature_.outputs.size(); ++i)
      if (signature_.outputs[i].kind == OutputKind::Gradient && signature_.outputs[i].of == names[place])
        return i;
    throw Error(ErrorCode::NeedsGrad, "c:gradients",
                fmt::format("the graph has no gradient of its input '{}'", names[place]),
                "Export it with an argument that requires a gradient");
  }

  const ir::Graph graph_;
  const GraphSignature signature_;
  std::shared_ptr<const runtime::Executable> executable_;
};

}  // namespace

std::unique_ptr<antegrad_function> load_graph(const std::string& text, const Options& options) {
  auto graph = ir::parse(text);
  ir::verify(graph);
  return std::make_unique<GraphFunction>(std::move(graph), compiler::with_environment(options));
}

}  // namespace antegrad::c
