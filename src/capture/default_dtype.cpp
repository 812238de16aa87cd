#include "capture/default_dtype.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <array>

#include "antegrad/error.h"
#include "aten/convert.h"

namespace antegrad::capture {

using namespace aten;

namespace {

/// Returns whether the op compares with a number: "aten.eq.Scalar", "aten.eq_.Scalar", "aten.eq.Scalar_out".
bool compares_with_number(std::string_view op) {
  constexpr std::array<std::string_view, 6> kComparisons = {"eq", "ne", "lt", "le", "gt", "ge"};
  constexpr std::string_view kNamespace = "aten.";
  if (!op.starts_with(kNamespace)) return false;
  op.remove_prefix(kNamespace.size());
  for (const auto name : kComparisons) {
    if (!op.starts_with(name)) continue;
    auto rest = op.substr(name.size());
    if (rest.starts_with('_')) rest.remove_prefix(1);
    if (rest.starts_with(".Scalar")) return true;
  }
  return false;
}

bool is_floating(c10::ScalarType dtype) { return c10::isFloatingType(dtype) || c10::isComplexType(dtype); }

/// Whether the dtype of the results comes from an argument.
bool has_floating_argument(c10::ArrayRef<c10::IValue> arguments) {
  const auto gives_dtype = [](const at::Tensor& tensor) {
    return tensor.defined() && is_floating(tensor.scalar_type()) &&
           !tensor.unsafeGetTensorImpl()->is_wrapped_number();
  };
  return std::ranges::any_of(arguments, [&](const c10::IValue& argument) {
    if (argument.isTensor()) return gives_dtype(argument.toTensor());
    return argument.isTensorList() && std::ranges::any_of(argument.toTensorVector(), gives_dtype);
  });
}

/// For a function that has changed the default dtype.
void record_dtype(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments, const ir::Graph& graph,
                  ir::Node& node) {
  const auto result = node.outputs.empty() ? nullptr : graph.type_of(node.outputs[0]).tensor();
  if (result == nullptr || !is_floating(to_torch(result->dtype)) || has_floating_argument(arguments)) return;
  const auto& parameters = schema.handle.schema().arguments();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name() != "dtype") continue;
    if (!arguments[i].isNone()) return;
    const auto comes_before = [&](const ir::NamedArg& attr) {
      return std::ranges::any_of(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(i),
                                 [&](const c10::Argument& one) { return one.name() == attr.name; });
    };
    const auto place = std::ranges::find_if_not(node.attrs, comes_before);
    node.attrs.insert(place, {"dtype", result->dtype});
    return;
  }
  throw Error(ErrorCode::UnsupportedOp, "capture:" + schema.name,
              "the type of its result follows the default dtype, which the function has changed",
              "Convert the tensors to a floating-point type first, or set the default dtype outside");
}

}  // namespace

void make_default_dtype_explicit(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                                 c10::ScalarType of_graph, ir::Graph& graph, ir::Node& node) {
  const auto dtype = c10::get_default_dtype_as_scalartype();
  if (dtype != of_graph) record_dtype(schema, arguments, graph, node);
  if (dtype == c10::kFloat || !compares_with_number(schema.name)) return;
  if (!c10::isIntegralType(arguments[0].toTensor().scalar_type(), /*includeBool=*/true) ||
      !arguments[1].isDouble())
    return;
  ir::Node number;
  number.op = "aten.scalar_tensor";
  number.args = {node.args[1]};
  number.attrs = {{"dtype", to_ir(dtype)}};
  number.provenance = node.provenance;
  number.outputs = {graph.add_value(ir::contiguous_tensor(to_ir(dtype), {}))};
  node.args[1] = number.outputs[0];
  node.op.replace(node.op.find("Scalar"), std::string_view("Scalar").size(), "Tensor");
  graph.add_node(std::move(number));
}

}  // namespace antegrad::capture
