#include "runtime/plan/error_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "ir/ops.h"

namespace antegrad::runtime {
namespace {

using Names = std::set<std::string_view>;

bool adds_up(const ir::Node& node) {
  const auto is_true = [](const ir::Arg& arg) {
    const auto* flag = arg.as<bool>();
    return flag != nullptr && *flag;
  };
  return (node.args.size() > 3 && is_true(node.args[3])) ||
         std::any_of(node.attrs.begin(), node.attrs.end(), [&](const ir::NamedArg& attr) {
           return attr.name == "accumulate" && is_true(attr.value);
         });
}

bool makes_given_numbers(const ir::Node& node) {
  static const auto& ops =
      *new const Names{"antegrad.constant", "aten.zeros",     "aten.zeros_like",   "aten.new_zeros",
                       "aten.ones",         "aten.ones_like", "aten.new_ones",     "aten.full",
                       "aten.full_like",    "aten.new_full",  "aten.scalar_tensor"};
  return ops.contains(node.op);
}

/// Returns the name of an op without namespace and overload.
std::string_view name_of(std::string_view op) {
  op.remove_prefix(std::min(op.find('.') + 1, op.size()));
  return op.substr(0, op.find('.'));
}

bool compares(std::string_view op) {
  static const auto& names = *new const Names{"eq", "ne", "lt", "le", "gt", "ge"};
  return names.contains(name_of(op));
}

void widen(ir::Type& type) {
  if (auto* tensor = type.tensor(); tensor != nullptr && ir::is_floating(tensor->dtype))
    tensor->dtype = ir::DType::F64;
}

void widen(ir::Arg& arg) {
  if (auto* dtype = std::get_if<ir::DType>(&arg.v); dtype != nullptr && ir::is_floating(*dtype))
    *dtype = ir::DType::F64;
}

/// Makes a factor positive: errors add up whatever its sign.
void make_positive(ir::Arg& arg) {
  if (auto* number = std::get_if<double>(&arg.v)) *number = std::abs(*number);
  if (const auto* dim = std::get_if<ir::Dim>(&arg.v); dim != nullptr && dim->is_constant())
    arg = ir::Arg(std::abs(dim->constant()));
}

/// Turns the node into the op that propagates its errors. Numbers of its own (padding) have none.
void make_error_op(ir::Node& node) {
  if (node.op == "aten.amin") node.op = "aten.amax";
  if (node.op.starts_with("aten.all")) node.op.replace(0, 8, "aten.any");
  if (error_rule(node) == ErrorRule::Compare) node.op.replace(5, 2, "sub");
  if (node.op == "aten.constant_pad_nd" && node.args.size() > 2) node.args.resize(2);
  if (error_rule(node) == ErrorRule::Accumulate)
    for (auto& attr : node.attrs)
      if (attr.name == "alpha") make_positive(attr.value);
}

}  // namespace

ErrorRule error_rule(const ir::Node& node) {
  static const auto& rules = *new const std::map<std::string_view, ErrorRule>{
      {"aten.sum", ErrorRule::Sum},
      {"aten.sum.dim_IntList", ErrorRule::Sum},
      {"aten.mean", ErrorRule::Sum},
      {"aten.mean.dim", ErrorRule::Sum},
      {"aten.amax", ErrorRule::Largest},
      {"aten.amin", ErrorRule::Largest},
      {"aten.prod", ErrorRule::Product},
      {"aten.prod.dim_int", ErrorRule::Product},
      {"aten.any", ErrorRule::Any},
      {"aten.any.dim", ErrorRule::Any},
      {"aten.any.dims", ErrorRule::Any},
      {"aten.all", ErrorRule::Any},
      {"aten.all.dim", ErrorRule::Any},
      {"aten.all.dims", ErrorRule::Any},
      {"aten.scatter_add", ErrorRule::Accumulate},
      {"aten.index_add", ErrorRule::Accumulate},
      {"aten.embedding_dense_backward", ErrorRule::Accumulate},
      {"aten.slice_scatter", ErrorRule::Move},
      {"aten.select_scatter", ErrorRule::Move},
      {"antegrad.restride", ErrorRule::Move},
      {"aten.view.dtype", ErrorRule::Fresh},
      {"aten.as_strided", ErrorRule::Fresh}};
  if (const auto found = rules.find(node.op); found != rules.end()) return found->second;
  if (makes_given_numbers(node)) return ErrorRule::Exact;
  if (node.op == "aten.index_put" || node.op == "aten._unsafe_index_put")
    return adds_up(node) ? ErrorRule::Accumulate : ErrorRule::Move;
  const auto* info = ir::find_op(node.op);
  if (info == nullptr) return ErrorRule::Fresh;
  if (info->kind == ir::OpKind::View || info->kind == ir::OpKind::Gather) return ErrorRule::Move;
  if (compares(node.op)) return ErrorRule::Compare;
  return info->kind == ir::OpKind::Pointwise ? ErrorRule::Pointwise : ErrorRule::Fresh;
}

bool is_coarse_near_zero(const ir::Node& node) { return node.op == "aten.erf"; }

bool rounds_nothing(const ir::Node& node, const ir::Graph& graph) {
  static const auto& ops = *new const Names{"abs",        "neg",
                                            "relu",       "ceil",
                                            "floor",      "trunc",
                                            "round",      "frac",
                                            "sign",       "sgn",
                                            "maximum",    "minimum",
                                            "fmax",       "fmin",
                                            "copysign",   "heaviside",
                                            "hardtanh",   "hardtanh_backward",
                                            "clamp",      "clamp_min",
                                            "clamp_max",  "softshrink_backward",
                                            "hardshrink", "hardshrink_backward",
                                            "threshold",  "where",
                                            "clone",      "threshold_backward",
                                            "nan_to_num", "masked_fill",
                                            "fill",       "lift_fresh_copy"};
  const auto* result = graph.type_of(node.outputs.front()).tensor();
  if (result == nullptr || !ir::is_floating(result->dtype) || ops.contains(name_of(node.op))) return true;
  if (node.op != "aten._to_copy" && node.op != "aten.copy") return false;
  bool same = true;
  ir::for_each_input(node, [&](ir::ValueId id) {
    const auto* type = graph.type_of(id).tensor();
    same = same && type != nullptr && type->dtype == result->dtype;
  });
  return same;
}

std::vector<ir::ValueId> reads_of(const ir::Node& node) {
  std::vector<ir::ValueId> reads;
  ir::for_each_input(node, [&](ir::ValueId id) {
    if (std::find(reads.begin(), reads.end(), id) == reads.end()) reads.push_back(id);
  });
  return reads;
}

ir::Graph error_graph(const ir::Graph& graph, const ir::Node& node) {
  ir::Graph out;
  out.stage = ir::Stage::Functional;
  const auto wide = [&](ir::ValueId id) {
    auto type = graph.type_of(id);
    if (node.op != "antegrad.constant") widen(type);  // its data are bytes of the original dtype
    return type;
  };
  std::map<ir::ValueId, ir::ValueId> inputs;
  for (auto id : reads_of(node)) inputs[id] = out.add_input(wide(id), ir::InputRole::UserInput);
  auto own = node;
  ir::for_each_input(own, [&](ir::ValueId& id) { id = inputs[id]; });
  for (auto& arg : own.args) widen(arg);
  for (auto& attr : own.attrs) widen(attr.value);
  make_error_op(own);
  const bool gives_distances = error_rule(node) == ErrorRule::Compare;
  for (auto& id : own.outputs) {
    auto type = wide(id);
    if (gives_distances) type.tensor()->dtype = ir::DType::F64;
    id = out.add_value(std::move(type));
    out.outputs.push_back({id, ir::OutputRole::UserOutput, {}, -1});
  }
  out.add_node(std::move(own));
  return out;
}

}  // namespace antegrad::runtime
