#include "capture/default_dtype.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>

#include <array>

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

}  // namespace

void make_default_dtype_explicit(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                                 ir::Graph& graph, ir::Node& node) {
  const auto dtype = c10::get_default_dtype_as_scalartype();
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
