#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "c/callable.h"
#include "compiler/api/environment.h"
#include "compiler/api/runnable_graph.h"

namespace antegrad::c {
namespace {

using Tensors = std::vector<at::Tensor>;
using InputKind = GraphSignature::InputKind;
using OutputKind = GraphSignature::OutputKind;

class GraphFunction : public antegrad_function {
 public:
  GraphFunction(ir::Graph graph, const Options& options) : runnable_(std::move(graph), options) {}

  Tensors call(Tensors inputs) const override {
    const auto results = run(inputs, /*tangent=*/0);
    Tensors out;
    for (size_t i = 0; i < results.size(); ++i)
      if (signature().outputs[i].kind == OutputKind::User) out.push_back(results[i]);
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
    const auto& graph = runnable_.graph();
    const auto tangents = signature().names(InputKind::Tangent).size();
    if (inputs.size() + tangents != graph.inputs.size())
      throw Error(ErrorCode::InvalidArgument, "c:call",
                  fmt::format("{} inputs were given where the graph has {}", inputs.size(),
                              graph.inputs.size() - tangents),
                  "Pass arguments, parameters and buffers in the order of the graph's text");
    const aten::BelowRecording below;
    Tensors all;
    size_t next = 0;
    for (const auto& input : graph.inputs) {
      const auto* type = graph.type_of(input.value).tensor();
      if (input.role != ir::InputRole::Tangent)
        all.push_back(inputs[next++]);
      else if (type != nullptr)
        all.push_back(at::full(aten::constants(type->sizes), tangent, aten::options_of(*type)));
      else
        all.emplace_back();
    }
    return runnable_.run(std::move(all), "c:call");
  }

  size_t place_of_value() const {
    const auto values = signature().names(OutputKind::User);
    if (signature().names(InputKind::Tangent).size() != 1 || values.size() != 1)
      throw Error(ErrorCode::NeedsGrad, "c:gradients",
                  fmt::format("the graph has {} results and {} tangents", values.size(),
                              signature().names(InputKind::Tangent).size()),
                  "Export a function of one result with export_joint()");
    return signature().output(values[0]);
  }

  /// `place` counts the inputs that are not tangents.
  size_t place_of_gradient(size_t place) const {
    std::vector<std::string> names;
    for (const auto& input : signature().inputs)
      if (input.kind != InputKind::Tangent) names.push_back(input.name);
    for (size_t i = 0; i < signature().outputs.size(); ++i)
      if (signature().outputs[i].kind == OutputKind::Gradient && signature().outputs[i].of == names[place])
        return i;
    throw Error(ErrorCode::NeedsGrad, "c:gradients",
                fmt::format("the graph has no gradient of its input '{}'", names[place]),
                "Export it with an argument that requires a gradient");
  }

  const GraphSignature& signature() const { return runnable_.signature(); }

  const compiler::RunnableGraph runnable_;
};

}  // namespace

std::unique_ptr<antegrad_function> load_graph(const std::string& text, const Options& options) {
  return std::make_unique<GraphFunction>(compiler::RunnableGraph::parse(text),
                                         compiler::with_environment(options));
}

}  // namespace antegrad::c
