#include "passes/products/concatenate.h"

#include <algorithm>

#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

ir::Dim total(Builder& b, const std::vector<Value>& matrices, int64_t dim) {
  ir::Dim sum = 0;
  for (const auto matrix : matrices) sum = sum + b.sizes(matrix)[dim];
  return sum;
}

Value transpose(Builder& b, Value matrix) { return b.permute(matrix, {1, 0}); }

}  // namespace

Sources::Sources(const ir::Graph& graph) : graph(graph), definition(definitions(graph)) {}

Value Sources::transposed(Value matrix) const {
  if (!matrix.valid() || matrix.position() >= definition.size() || !definition[matrix].valid()) return {};
  const auto& node = graph.node(definition[matrix]);
  if (node.op != "aten.t" && node.op != "aten.transpose.int" && node.op != "aten.permute") return {};
  const auto* source = node.args[0].as<Value>();
  if (source == nullptr || graph.storage_of(matrix) != graph.storage_of(*source)) return {};
  const auto &type = graph.tensor_type(matrix), &from = graph.tensor_type(*source);
  const bool swaps = type.sizes.size() == 2 && type.sizes[0] == from.sizes[1] &&
                     type.sizes[1] == from.sizes[0] && type.strides[0] == from.strides[1] &&
                     type.strides[1] == from.strides[0];
  return swaps ? *source : Value();
}

bool lie_side_by_side(const ir::Graph& graph, const std::vector<Value>& matrices, int64_t dim) {
  const size_t along = dim;
  const auto& first = graph.tensor_type(matrices[0]);
  const auto* whole = graph.type_of(graph.storage_of(matrices[0])).tensor();
  if (whole == nullptr || whole->dtype != first.dtype) return false;  // offsets count other elements there
  auto next = first.offset;
  for (const auto matrix : matrices) {
    const auto& type = graph.tensor_type(matrix);
    if (graph.storage_of(matrix) != graph.storage_of(matrices[0]) || type.strides != first.strides ||
        !(type.offset == next))
      return false;
    next = next + type.sizes[along] * type.strides[along];
  }
  return true;
}

Value concatenated(Builder& b, const Sources& sources, const std::vector<Value>& matrices, int64_t dim) {
  if (matrices.size() == 1) return matrices[0];
  const auto type = b.type(matrices[0]);
  auto sizes = type.sizes;
  sizes[dim] = total(b, matrices, dim);
  if (lie_side_by_side(sources.graph, matrices, dim)) return b.strided(matrices[0], sizes, type.strides);
  std::vector<Value> behind;
  for (const auto matrix : matrices)
    if (const auto source = sources.transposed(matrix); source.valid()) behind.push_back(source);
  if (behind.size() == matrices.size()) return transpose(b, concatenated(b, sources, behind, 1 - dim));
  ir::Arg::List parts(matrices.begin(), matrices.end());
  return b.emit("aten.cat", {std::move(parts), dim}, ir::contiguous_tensor(type.dtype, sizes, type.device));
}

}  // namespace antegrad::passes
