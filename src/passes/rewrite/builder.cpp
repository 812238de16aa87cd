#include "passes/rewrite/builder.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "passes/rewrite/layout.h"

namespace antegrad::passes {

using ir::Dim;
using ir::DType;

ir::Arg list_of(const Dims& dims) { return ir::Arg::List(dims.begin(), dims.end()); }
ir::Arg list_of(const Sizes& sizes) { return ir::Arg::List(sizes.begin(), sizes.end()); }

DType wide(DType dtype) {
  if (dtype == DType::F16 || dtype == DType::BF16) return DType::F32;
  if (dtype != DType::F32 && dtype != DType::F64) throw NotHandled();
  return dtype;
}

Builder::Builder(ir::Graph& graph, const ir::Node& replaced)
    : graph_(graph), provenance_(replaced.provenance), first_new_(graph.values.size()) {}

/// Leaves empty and complex tensors to LibTorch.
void Builder::refuse_unusual(Value operand) const {
  const auto& type = graph_.tensor_type(operand);
  if (ir::is_complex(type.dtype)) throw NotHandled();
  for (const auto& size : type.sizes)
    if (size.is(0)) throw NotHandled();
}

int64_t Builder::least(const Dim& dim) const { return bounds(graph_, dim).lower; }
int64_t Builder::largest(const Dim& dim) const { return bounds(graph_, dim).upper; }

Value Builder::emit(std::string op, std::vector<ir::Arg> args, ir::TensorType type,
                    std::vector<ir::NamedArg> attrs) {
  const auto result = graph_.add_value(std::move(type));
  emit_as(result, std::move(op), std::move(args), std::move(attrs));
  return result;
}

void Builder::emit_as(Value output, std::string op, std::vector<ir::Arg> args,
                      std::vector<ir::NamedArg> attrs) {
  ir::Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  node.attrs = std::move(attrs);
  node.outputs = {output};
  node.provenance = provenance_;
  ir::for_each_input(node, [&](Value id) { refuse_unusual(id); });
  nodes_.push_back(std::move(node));
}

void Builder::require(Value condition, std::string message) {
  emit_as({}, "aten._assert_async.msg", {condition, std::move(message)});
  nodes_.back().outputs.clear();
  nodes_.back().effects.ordered = true;
}

// --- pointwise

Value Builder::pointwise(std::string_view op, std::vector<ir::Arg> args, std::optional<DType> dtype) {
  std::vector<const ir::TensorType*> operands;
  Sizes sizes;
  for (const auto& arg : args) {
    const auto* id = arg.as<Value>();
    if (id == nullptr) continue;
    operands.push_back(&graph_.tensor_type(*id));
    if (!broadcast(operands.back()->sizes, sizes)) throw NotHandled();
  }
  const auto strides = pointwise_strides(graph_, sizes, operands);
  if (!strides) throw NotHandled();
  ir::TensorType result{dtype.value_or(operands[0]->dtype), operands[0]->device, sizes, *strides, 0};
  return emit(std::string(op), std::move(args), std::move(result));
}

Value Builder::binary(std::string op, Value x, const ir::Arg& y) {
  return pointwise(op + (y.as<Value>() != nullptr ? ".Tensor" : ".Scalar"), {x, y});
}

Value Builder::compare(std::string_view comparison, Value x, const ir::Arg& y) {
  const auto op = "aten." + std::string(comparison) + (y.as<Value>() != nullptr ? ".Tensor" : ".Scalar");
  return pointwise(op, {x, y}, DType::Bool);
}

Value Builder::where(Value condition, const ir::Arg& x, const ir::Arg& y) {
  const auto* left = x.as<Value>();
  const auto* right = y.as<Value>();
  const auto dtype = type(left != nullptr ? *left : *right).dtype;
  const auto* op = left == nullptr    ? "aten.where.ScalarSelf"
                   : right == nullptr ? "aten.where.ScalarOther"
                                      : "aten.where.self";
  return pointwise(op, {condition, x, y}, dtype);
}

Value Builder::to(Value x, DType dtype) {
  if (type(x).dtype == dtype) return x;
  const auto result = pointwise("aten._to_copy", {x}, dtype);
  nodes_.back().attrs = {{"dtype", dtype}};
  return result;
}

// --- reductions

Dims Builder::all_dims(Value x) const {
  Dims dims(rank(x));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

Dim Builder::count(Value x, const Dims& dims) const {
  Dim count = 1;
  for (auto dim : dims) count = count * sizes(x)[dim];
  return count;
}

Value Builder::reduce(std::string_view op, Value x, const Dims& dims, bool keepdim) {
  if (dims.empty()) return x;
  const bool needs_elements = op == "aten.amax" || op == "aten.amin";
  Sizes kept;
  for (size_t i = 0; i < rank(x); ++i) {
    const bool reduced = std::ranges::find(dims, static_cast<int64_t>(i)) != dims.end();
    if (reduced && needs_elements && least(sizes(x)[i]) < 1) throw NotHandled();
    if (!reduced) kept.push_back(sizes(x)[i]);
    if (reduced && keepdim) kept.push_back(1);
  }
  std::vector<ir::Arg> args = {x, list_of(dims)};
  if (keepdim) args.push_back(true);
  return emit(std::string(op), std::move(args),
              ir::contiguous_tensor(type(x).dtype, std::move(kept), type(x).device));
}

Value Builder::sum(Value x, const Dims& dims, bool keepdim) {
  const auto result = reduce("aten.sum.dim_IntList", x, dims, keepdim);
  const auto dtype = type(x).dtype;  // LibTorch's sums of integers are i64 by default
  if (!dims.empty() && !ir::is_floating(dtype) && dtype != DType::I64)
    nodes_.back().attrs = {{"dtype", dtype}};
  return result;
}

Value Builder::mean(Value x, const Dims& dims, bool keepdim) {
  return dims.empty() ? x : div(sum(x, dims, keepdim), count(x, dims));
}

// --- others

Value Builder::arange(const Dim& end, const ir::Device& device) {
  std::vector<ir::NamedArg> attrs = {{"dtype", DType::I64}};
  if (!(device == ir::Device())) attrs.push_back({"device", device});
  return emit("aten.arange", {end}, ir::contiguous_tensor(DType::I64, {end}, device), std::move(attrs));
}

Value Builder::full(const Sizes& sizes, DType dtype, const ir::Device& device, double value) {
  std::vector<ir::NamedArg> attrs = {{"dtype", dtype}};
  if (!(device == ir::Device())) attrs.push_back({"device", device});
  return emit("aten.full", {list_of(sizes), value}, ir::contiguous_tensor(dtype, sizes, device),
              std::move(attrs));
}

Value Builder::pad(Value x, int64_t dim, const Dim& before, const Dim& after) {
  if (before.is(0) && after.is(0)) return x;
  Sizes padded = sizes(x);
  const size_t at = dim;
  padded[at] = padded[at] + before + after;
  Sizes amounts((padded.size() - at) * 2);  // starting with the last dimension
  amounts[amounts.size() - 2] = before;
  amounts[amounts.size() - 1] = after;
  return emit("aten.constant_pad_nd", {x, list_of(amounts)},
              ir::contiguous_tensor(type(x).dtype, std::move(padded), type(x).device));
}

// --- outputs

/// Whether the node that computes x can define the output directly.
bool Builder::may_become(Value x, Value output) const {
  const auto base_of = [&](Value id) { return graph_.values[id].base; };
  const auto defines = [&](const ir::Node& node) {
    return std::ranges::find(node.outputs, x) != node.outputs.end();
  };
  const bool is_ours = x.position() >= first_new_ && std::ranges::any_of(nodes_, defines);
  if (!is_ours || base_of(x).valid()) return false;
  if (type(x).strides == type(output).strides) return true;
  return std::ranges::none_of(nodes_, [&](const ir::Node& node) {  // views depend on its strides
    return std::ranges::find(node.outputs, x, base_of) != node.outputs.end();
  });
}

void Builder::rename(Value x, Value output) {
  for (auto& node : nodes_) {
    ir::for_each_input(node, [&](Value& id) { id = id == x ? output : id; });
    for (auto& id : node.outputs) {
      if (id == x) id = output;
      auto& base = graph_.values[id].base;
      if (base == x) base = output;
    }
  }
}

void Builder::define(Value output, Value x) {
  if (sizes(x) != sizes(output)) throw NotHandled();
  x = to(x, type(output).dtype);
  if (may_become(x, output))
    rename(x, output);
  else
    emit_as(output, "aten.clone", {x});
}

std::vector<ir::Node> Builder::take(const ir::Node& replaced) {
  std::unordered_map<int32_t, size_t> definition;
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (auto id : nodes_[i].outputs) definition.emplace(id.index, i);
  std::vector<ir::Node> taken;
  std::vector<bool> visited(nodes_.size());
  const std::function<void(size_t)> visit = [&](size_t i) {
    if (visited[i]) return;
    visited[i] = true;
    ir::for_each_input(nodes_[i], [&](Value id) {
      if (const auto found = definition.find(id.index); found != definition.end()) visit(found->second);
    });
    taken.push_back(std::move(nodes_[i]));
  };
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].effects.ordered) visit(i);
  for (auto id : replaced.outputs)
    if (const auto found = definition.find(id.index); found != definition.end()) visit(found->second);
  return taken;
}

}  // namespace antegrad::passes
