#pragma once
// Runs functions as captured and as decomposed, both with LibTorch's kernels.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aot/functionalize.h"
#include "aten/convert.h"
#include "capture/capture.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/decompositions/decompose.h"
#include "passes/pipeline.h"
#include "runtime/executable.h"

namespace antegrad::test {

using Tensors = std::vector<at::Tensor>;

/// Adds nodes that give results the strides of the graph: generated code writes these, LibTorch's kernels
/// choose their own.
inline ir::Graph with_declared_strides(ir::Graph graph) {
  for (auto& node : std::exchange(graph.nodes, {})) {
    std::vector<ir::Node> restrides;
    for (auto& id : node.outputs) {
      const auto* type = graph.type_of(id).tensor();
      const bool is_view = graph.values[id].base.valid();
      if (type == nullptr || is_view || type->numel() == ir::Dim(0) || node.op.starts_with("antegrad."))
        continue;
      ir::Node restride;
      restride.op = "antegrad.restride";
      const auto declared = id;
      id = graph.add_value(graph.type_of(declared));
      ir::Arg::List strides(graph.tensor_type(id).strides.begin(), graph.tensor_type(id).strides.end());
      restride.args = {id, std::move(strides)};
      restride.outputs = {declared};
      restrides.push_back(std::move(restride));
    }
    graph.nodes.push_back(std::move(node));
    std::ranges::move(restrides, std::back_inserter(graph.nodes));
  }
  graph.compact();
  return graph;
}

/// A captured function and the inputs of its graph.
struct Captured {
  ir::Graph graph;
  Tensors inputs;
  bool usable = true;  ///< inputs do not share memory

  Captured(const capture::TensorFunction& function, const Tensors& arguments, bool gradients = false) {
    capture::CaptureOptions options;
    options.gradients = gradients;
    const auto trace = capture::capture(function, arguments, options);
    auto functional = aot::functionalize(trace);
    graph = std::move(functional.graph);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const auto& input = graph.inputs[i];
      const auto slot =
          i < functional.signature.graph_inputs.size() ? functional.signature.graph_inputs[i] : -1;
      const auto position = static_cast<size_t>(slot);
      if (input.role == ir::InputRole::Tangent)
        inputs.push_back(tangent(graph.tensor_type(input.value)));
      else if (slot >= functional.signature.inputs || slot < 0)
        usable = false;
      else if (position < arguments.size())
        inputs.push_back(arguments[position].defined() ? arguments[position].detach() : at::Tensor());
      else
        inputs.push_back(trace.lifted.at(position - trace.user_inputs).tensor.detach());
    }
  }

  static at::Tensor tangent(const ir::TensorType& type) {
    const auto options = at::TensorOptions(aten::to_torch(type.dtype));
    auto result = at::empty_strided(aten::constants(type.sizes), aten::constants(type.strides), options);
    return result.copy_(at::randn(result.sizes(), options));
  }
};

inline Tensors run(const ir::Graph& graph, const Tensors& inputs) {
  Tensors outputs;
  runtime::Executable(graph).run(at::ArrayRef<at::Tensor>(inputs), outputs);
  return outputs;
}

/// Relative to the larger of the value and 1.
inline double tolerance(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
      return 1e-5;
    case at::kHalf:
      return 2e-3;
    case at::kBFloat16:
      return 1.6e-2;
    default:
      return 0;
  }
}

/// Returns how the second tensor differs from the first; "" when it does not.
inline std::string difference(const at::Tensor& expected, const at::Tensor& actual) {
  if (expected.defined() != actual.defined()) return "definedness";
  if (!expected.defined()) return "";
  if (expected.scalar_type() != actual.scalar_type())
    return c10::str("dtype ", expected.scalar_type(), " / ", actual.scalar_type());
  if (expected.sizes() != actual.sizes()) return c10::str("sizes ", expected.sizes(), " / ", actual.sizes());
  if (expected.numel() > 0 && expected.strides() != actual.strides())
    return c10::str("strides ", expected.strides(), " / ", actual.strides());
  const double allowed = tolerance(expected.scalar_type());
  if (!at::allclose(expected, actual, allowed, allowed, /*equal_nan=*/true))
    return c10::str("values\n", expected, "\n/\n", actual);
  return "";
}

/// Returns a node whose result has another dtype or other sizes in LibTorch than in the graph; "" if there is
/// none.
inline std::string wrong_type(ir::Graph graph, const Tensors& inputs) {
  graph.outputs.clear();
  for (const auto& node : graph.nodes)
    for (auto id : node.outputs)
      if (graph.type_of(id).tensor() != nullptr)
        graph.outputs.push_back({id, ir::OutputRole::UserOutput, "", -1});
  const auto results = run(with_declared_strides(graph), inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& type = graph.tensor_type(graph.outputs[i].value);
    const bool same = results[i].scalar_type() == aten::to_torch(type.dtype) &&
                      results[i].sizes() == at::IntArrayRef(aten::constants(type.sizes));
    if (!same)
      return c10::str("%", graph.outputs[i].value.index, " is ", results[i].toString(), results[i].sizes());
  }
  return "";
}

using Transform = bool (*)(ir::Graph&);

struct Checked {
  bool changed = false;
  std::string wrong;  ///< "" when nothing is
  ir::Graph graph;    ///< after the pass
};

/// Checks that a captured graph computes the same after a pass, with outputs of the same types.
inline Checked check(const Captured& captured, Transform pass = passes::decompose) {
  Checked checked{false, "", captured.graph};
  auto& graph = checked.graph;
  if (!pass(graph)) return checked;
  checked.changed = true;
  ir::verify(graph);
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    if (graph.outputs[i].value.valid() &&
        !(graph.type_of(graph.outputs[i].value) == captured.graph.type_of(captured.graph.outputs[i].value)))
      checked.wrong = c10::str("type of output ", i);
  const auto expected = run(captured.graph, captured.inputs);
  const auto actual = run(with_declared_strides(graph), captured.inputs);
  for (size_t i = 0; i < expected.size(); ++i)
    if (const auto what = difference(expected[i], actual[i]); !what.empty())
      checked.wrong = c10::str("output ", i, ": ", what, "\n", ir::print(graph));
  if (const auto what = wrong_type(graph, captured.inputs); !what.empty())
    checked.wrong = c10::str(what, " in\n", ir::print(graph));
  if (pass(graph)) checked.wrong = "a second run changes it";
  return checked;
}

}  // namespace antegrad::test
