#include "partition/cost.h"

#include <algorithm>
#include <vector>

#include "ir/calls.h"
#include "partition/classify.h"

namespace antegrad::partition {
namespace {

/// The likely value of a size, stride or offset. Negative values of an expression count as 0: no tensor has
/// such a size.
int64_t likely(const ir::Graph& graph, const ir::Dim& dim) {
  return dim.is_constant() ? dim.constant() : std::max<int64_t>(0, graph.hint_of(dim));
}

int64_t elements(const ir::Graph& graph, const ir::TensorType& type) {
  int64_t count = 1;
  for (const auto& size : type.sizes) count *= likely(graph, size);
  return count;
}

/// The number of elements from the start of the storage to the last element.
int64_t extent(const ir::Graph& graph, const ir::TensorType& type) {
  int64_t last = likely(graph, type.offset);
  for (size_t i = 0; i < type.sizes.size(); ++i) {
    const int64_t size = likely(graph, type.sizes[i]);
    if (size == 0) return 0;
    last += (size - 1) * likely(graph, type.strides[i]);
  }
  return last + 1;
}

std::vector<const ir::TensorType*> tensors_read(const ir::Graph& graph, const ir::Node& node) {
  std::vector<const ir::TensorType*> out;
  ir::for_each_input(node, [&](ir::ValueId id) {
    if (const auto* type = graph.type_of(id).tensor()) out.push_back(type);
  });
  return out;
}

double elements_touched(const ir::Graph& graph, const ir::Node& node) {
  double count = 0;
  for (const auto* type : tensors_read(graph, node)) count += static_cast<double>(elements(graph, *type));
  for (const auto id : node.outputs)
    if (const auto* type = graph.type_of(id).tensor()) count += static_cast<double>(elements(graph, *type));
  return count;
}

double last_size(const ir::Graph& graph, const ir::TensorType& type) {
  return type.sizes.empty() ? 1 : static_cast<double>(likely(graph, type.sizes.back()));
}

/// Two per element of the result and of the contracted dimension, which is the last one of the left factor.
double product_flops(const ir::Graph& graph, const ir::Node& node, const ir::TensorType& left) {
  const auto* result = graph.type_of(node.outputs.front()).tensor();
  if (result == nullptr) return elements_touched(graph, node);
  return 2.0 * static_cast<double>(elements(graph, *result)) * last_size(graph, left);
}

/// Every weight is applied to every position of the result (of the input, if transposed) once per sample.
double convolution_flops(const ir::Graph& graph, const ir::TensorType& input, const ir::TensorType& weight,
                         const ir::TensorType& result, bool transposed) {
  if (weight.sizes.empty()) return 0;
  const auto& positions = transposed ? input : result;
  const double per_position = static_cast<double>(elements(graph, weight)) /
                              static_cast<double>(std::max<int64_t>(1, likely(graph, weight.sizes[0])));
  return 2.0 * static_cast<double>(elements(graph, positions)) * per_position;
}

/// Queries times keys, then scores times values.
double attention_flops(const ir::Graph& graph, const ir::TensorType& query, const ir::TensorType& key,
                       const ir::TensorType& value) {
  if (key.sizes.size() < 2) return 0;
  const double keys = static_cast<double>(likely(graph, key.sizes[key.sizes.size() - 2]));
  const double rows = static_cast<double>(elements(graph, query)) / std::max(1.0, last_size(graph, query));
  return 2.0 * rows * keys * (last_size(graph, query) + last_size(graph, value));
}

bool is_attention(const ir::Node& node) { return node.op.find("scaled_dot_product") != std::string::npos; }

}  // namespace

int64_t dense_bytes(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(id).tensor();
  return type == nullptr ? 0 : elements(graph, *type) * ir::size_in_bytes(type->dtype);
}

int64_t storage_bytes(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(graph.storage_of(id)).tensor();
  return type == nullptr ? 0 : extent(graph, *type) * ir::size_in_bytes(type->dtype);
}

int64_t bytes_read(const ir::Graph& graph, const ir::Node& node) {
  int64_t bytes = 0;
  for_each_read(node, [&](ir::ValueId id) { bytes += dense_bytes(graph, id); });
  return bytes;
}

int64_t bytes_made(const ir::Graph& graph, const ir::Node& node) {
  int64_t bytes = 0;
  for (const auto id : node.outputs)
    if (graph.storage_of(id) == id) bytes += dense_bytes(graph, id);
  return bytes;
}

double flops(const ir::Graph& graph, const ir::Node& node) {
  const auto tensors = tensors_read(graph, node);
  const auto& op = node.op;
  if (is_attention(node) && tensors.size() >= 3)
    return attention_flops(graph, *tensors[0], *tensors[1], *tensors[2]);
  if (op == "aten.convolution" && tensors.size() >= 2) {
    const bool* transposed = node.args.size() > 6 ? node.args[6].as<bool>() : nullptr;
    return convolution_flops(graph, *tensors[0], *tensors[1], graph.tensor_type(node.outputs.front()),
                             transposed != nullptr && *transposed);
  }
  if (op_info(node).kind != ir::OpKind::Matmul || node.outputs.empty()) return elements_touched(graph, node);
  // addmm and similar ops have the addend as first argument.
  const bool has_addend = op.starts_with("aten.add") || op.starts_with("aten.baddbmm");
  const size_t left = has_addend ? 1 : 0;
  return tensors.size() > left ? product_flops(graph, node, *tensors[left]) : elements_touched(graph, node);
}

ir::OpInfo op_info(const ir::Node& node) {
  using enum ir::OpKind;
  using enum ir::Recompute;
  if (const auto* row = ir::find_op(node.op)) return *row;
  static const auto& kOwn = *new const std::vector<ir::OpInfo>{
      {"antegrad.constant", Factory, Free, ""}, {"antegrad.strided", View, Free, ""},
      {"antegrad.alias", View, Free, ""},       {"antegrad.restride", Gather, Cheap, ""},
      {"antegrad.resize", Gather, Cheap, ""},   {"antegrad.strided_scatter", Scatter, Cheap, ""},
  };
  // What a region keeps for its backward pass cannot be had twice.
  if (node.op.starts_with("antegrad.region.") || node.op == ir::kCall) return {node.op, Extern, Never, ""};
  for (const auto& row : kOwn)
    if (row.name == node.op) return row;
  return {node.op, Extern, Expensive, ""};
}

}  // namespace antegrad::partition
