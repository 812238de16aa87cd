#include "compiler/code/reach.h"

#include <algorithm>

namespace antegrad::compiler {
namespace {

/// Returns the end of the tensor in its storage, in bytes.
int64_t end_in_bytes(const ir::TensorType& type) {
  int64_t elements = type.offset.constant() + 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].constant() == 0) return 0;
    elements += (type.sizes[d].constant() - 1) * type.strides[d].constant();
  }
  return elements * ir::size_in_bytes(type.dtype);
}

}  // namespace

std::vector<Reach> reach_of(const ir::Graph& graph) {
  ir::PerValue<int64_t> ends(graph.values.size(), 0);  // of such views, per base
  for (const auto& node : graph.nodes) {
    if (node.op.rfind("aten.resize", 0) == 0) return {};  // the call makes storages larger itself
    if (node.op != "aten.as_strided") continue;
    const auto view = node.outputs[0];
    auto& end = ends[graph.storage_of(view)];
    end = std::max(end, end_in_bytes(graph.tensor_type(view)));
  }
  std::vector<Reach> reach;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.inputs.size()); ++i) {
    const auto value = graph.inputs[i].value;
    const auto* type = graph.type_of(value).tensor();
    if (type != nullptr && ends[value] > end_in_bytes(*type))
      reach.push_back({i, ends[value] - type->offset.constant() * ir::size_in_bytes(type->dtype)});
  }
  return reach;
}

}  // namespace antegrad::compiler
