#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/element.h"
#include "ir/layout.h"
#include "ir/ops.h"
#include "schedule/item.h"
#include "schedule/promotion.h"
#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

using ir::DType;

struct ReductionRow {
  std::string_view op;
  Combine combine;
};
constexpr ReductionRow kReductions[] = {
    {"aten.sum", Combine::Sum},      {"aten.sum.dim_IntList", Combine::Sum},
    {"aten.amax", Combine::Max},     {"aten.amin", Combine::Min},
    {"aten.any", Combine::Any},      {"aten.any.dim", Combine::Any},
    {"aten.any.dims", Combine::Any}, {"aten.all", Combine::All},
    {"aten.all.dim", Combine::All},  {"aten.all.dims", Combine::All},
    {"aten.prod", Combine::Product}, {"aten.prod.dim_int", Combine::Product},
};

std::optional<std::vector<bool>> reduced_dims(const ir::Node& node, size_t rank) {
  std::vector<bool> reduced(rank, true);
  const bool whole =
      node.op == "aten.sum" || node.op == "aten.any" || node.op == "aten.all" || node.op == "aten.prod";
  const auto* arg = whole ? nullptr : find_arg(node, 1, "dim");
  if (arg == nullptr) return reduced;
  std::vector<int64_t> dims;
  if (const auto one = as_int(arg))
    dims = {*one};
  else if (auto list = as_ints(*arg))
    dims = *list;
  else
    return std::nullopt;
  if (dims.empty()) return reduced;
  reduced.assign(rank, false);
  for (auto d : dims) reduced[counted_from_front(d, rank)] = true;
  return reduced;
}

std::vector<Item> lower_reduction(const ir::Graph& graph, ir::NodeId index, Combine combine,
                                  std::string& why) {
  const auto& node = graph.node(index);
  const auto* source = node.args.empty() ? nullptr : node.args[0].as<ir::ValueId>();
  if (source == nullptr || node.outputs.size() != 1 || !is_lowered_type(graph.type_of(*source))) {
    why = "its operand has a type that generated code does not handle";
    return {};
  }
  auto item = item_of(graph, index, Form::Reduction);
  const auto& type = graph.tensor_type(*source);
  if (type.sizes.empty() || type.numel() == ir::Dim(0)) {
    why = "there is nothing to reduce";
    return {};
  }
  const auto reduced = reduced_dims(node, type.sizes.size());
  if (!reduced) {
    why = "the dims that it reduces are not known";
    return {};
  }
  item.combine = combine;
  item.sizes = type.sizes;
  item.reduced = *reduced;
  bool shrinks = false, may_be_empty = false;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (!item.reduced[d]) continue;
    shrinks = shrinks || !type.sizes[d].is(1);
    may_be_empty = may_be_empty || !is_at_least(graph, type.sizes[d], 1);
  }
  if (may_be_empty && (combine == Combine::Max || combine == Combine::Min)) {
    why = "LibTorch throws for extrema of an empty dim";
    return {};
  }
  if (!shrinks) {
    why = "there is nothing to reduce";
    return {};
  }
  const bool is_test = combine == Combine::Any || combine == Combine::All;
  if (is_test) item.result = DType::Bool;
  item.operands = {{*source, {}, is_test ? compute_type(type.dtype) : item.result}};
  if (ir::is_half(type.dtype) && type.dtype != graph.tensor_type(item.output).dtype)
    item.operands[0].rounds = type.dtype;
  return {item};
}

std::vector<Item> lower_factory(const ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto& node = graph.node(index);
  auto item = item_of(graph, index, Form::Constant);
  const auto ends_with = [&](std::string_view name) { return node.op == name; };
  const ir::Arg* number = nullptr;
  if (ends_with("aten.zeros") || ends_with("aten.zeros_like") || ends_with("aten.new_zeros")) return {item};
  if (ends_with("aten.ones") || ends_with("aten.ones_like") || ends_with("aten.new_ones")) {
    item.number = int64_t{1};
    return {item};
  }
  if (ends_with("aten.full") || ends_with("aten.full_like")) number = find_arg(node, 1);
  if (ends_with("aten.new_full")) number = find_arg(node, 2);
  if (ends_with("aten.scalar_tensor")) number = find_arg(node, 0);
  if (number != nullptr) {
    const auto value = as_number(*number);
    const auto held = value ? converted(*value, graph.tensor_type(item.output).dtype) : value;
    if (!held) why = "its number is not real, or its type cannot represent it";
    if (!held) return {};
    item.number = *held;
    return {item};
  }
  if (node.op == "aten.arange" || node.op == "aten.arange.start" || node.op == "aten.arange.start_step") {
    item.form = Form::Iota;
    const auto start = node.op == "aten.arange" ? std::optional<Number>(int64_t{0}) : as_number(node.args[0]);
    const auto* step = node.op == "aten.arange.start_step" ? find_arg(node, 2) : nullptr;
    const auto by = step == nullptr ? std::optional<Number>(int64_t{1}) : as_number(*step);
    const auto dtype = graph.tensor_type(item.output).dtype;
    const bool integral =
        start && by && as_dim(*start) && as_dim(*by) && (dtype == DType::I64 || dtype == DType::I32);
    if (integral) {
      item.number = *start;
      item.step = *by;
      return {item};
    }
  }
  why = "generated code does not make this tensor";
  return {};
}

/// Lowers a scalar constant of the graph, given by its bytes or, when it depends on sizes, as a number.
std::vector<Item> lower_constant(const ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto& node = graph.node(index);
  auto item = item_of(graph, index, Form::Constant);
  const auto* number = find_arg(node, 99, "value");
  if (const auto value = number == nullptr ? std::nullopt : as_number(*number); value && item.sizes.empty()) {
    item.number = *value;
    return {item};
  }
  const auto* data = find_arg(node, 99, "data");
  const auto* bytes = data == nullptr ? nullptr : data->as<ir::Bytes>();
  const auto dtype = graph.tensor_type(item.output).dtype;
  const auto read = [&]<class T>(T value) -> T {
    std::memcpy(&value, (*bytes)->data(), sizeof(T));
    return value;
  };
  if (bytes != nullptr && item.sizes.empty() && std::ssize(**bytes) == ir::size_in_bytes(dtype)) {
    if (dtype == DType::F32) item.number = static_cast<double>(read(float{}));
    if (dtype == DType::F64) item.number = read(double{});
    if (dtype == DType::I64) item.number = read(int64_t{});
    if (dtype == DType::I32) item.number = static_cast<int64_t>(read(int32_t{}));
    if (dtype == DType::Bool) item.number = static_cast<int64_t>(read(uint8_t{}) != 0);
    if (dtype == DType::F32 || dtype == DType::F64 || dtype == DType::I64 || dtype == DType::I32 ||
        dtype == DType::Bool)
      return {item};
  }
  why = "a constant tensor of the graph";
  return {};
}

std::vector<Item> lower_random(const ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto& node = graph.node(index);
  auto item = item_of(graph, index, Form::Random);
  item.expensive = true;
  const auto dtype = graph.tensor_type(item.output).dtype;
  const auto* state = node.args[0].as<ir::ValueId>();
  const auto* offset = node.args[1].as<ir::Dim>();
  why = "generated code does not draw these random numbers";
  if (state == nullptr || offset == nullptr) return {};
  item.source = *state;
  item.number = as_number(*offset);
  if (node.op == "antegrad.random_bernoulli" && dtype != DType::F64) {
    const auto whole = as_int(&node.args[2]);
    const auto* part = node.args[2].as<double>();
    if (part == nullptr && !whole) return {};
    const double chance = part == nullptr ? static_cast<double>(*whole) : *part;
    const double threshold = std::ceil(std::ldexp(chance, 32));  // bits * 2^-32 < p
    item.random = RandomKind::Bits32;
    item.computes = DType::U32;
    item.result = DType::Bool;
    item.expression = "a < b";
    if (threshold >= 0x1p32) {
      item.form = Form::Constant;
      item.number = int64_t{1};
      return {item};
    }
    item.operands = {{{}, static_cast<int64_t>(threshold), DType::U32}};
    return {item};
  }
  const auto low = node.args.size() > 3 ? as_number(node.args[2]) : std::nullopt;
  const auto high = node.args.size() > 3 ? as_number(node.args[3]) : std::nullopt;
  if (node.op == "antegrad.random_normal" && low && high && (dtype == DType::F32 || dtype == DType::F64)) {
    item.random = dtype == DType::F32 ? RandomKind::Normal32 : RandomKind::Normal64;
    item.expression = "b + a * c";
    item.operands = {{{}, *low, item.result}, {{}, *high, item.result}};
    return {item};
  }
  return {};
}

}  // namespace

Item item_of(const ir::Graph& graph, ir::NodeId node, Form form) {
  Item item;
  item.node = node;
  item.form = form;
  item.output = graph.node(node).outputs[0];
  const auto& type = graph.tensor_type(item.output);
  item.sizes = type.sizes;
  item.result = item.computes = compute_type(type.dtype);
  return item;
}

const ir::Arg* find_arg(const ir::Node& node, size_t position, std::string_view name) {
  if (position < node.args.size()) return node.args[position].as<ir::None>() ? nullptr : &node.args[position];
  for (const auto& attr : node.attrs)
    if (attr.name == name) return attr.value.as<ir::None>() ? nullptr : &attr.value;
  return nullptr;
}

std::optional<Number> as_number(const ir::Arg& arg) {
  if (const auto* v = arg.as<bool>()) return static_cast<int64_t>(*v);
  if (const auto* v = arg.as<double>()) return *v;
  if (const auto* v = arg.as<ir::Dim>()) return as_number(*v);
  const auto* v = arg.as<ir::Real>();
  if (v == nullptr) return std::nullopt;
  return v->dim.is_constant() ? Number(v->evaluate({})) : Number(SizeReal{v->form, v->scale, v->dim});
}

Number as_number(const ir::Dim& dim) { return dim.is_constant() ? Number(dim.constant()) : Number(dim); }

std::optional<int64_t> as_int(const ir::Arg* arg) {
  const auto* dim = arg == nullptr ? nullptr : arg->as<ir::Dim>();
  return dim != nullptr && dim->is_constant() ? std::optional(dim->constant()) : std::nullopt;
}

std::optional<ir::Dim> as_dim(const Number& number) {
  if (const auto* integer = std::get_if<int64_t>(&number)) return ir::Dim(*integer);
  const auto* dim = std::get_if<ir::Dim>(&number);
  return dim == nullptr ? std::nullopt : std::optional(*dim);
}

bool equals(const Number& number, double value) {
  if (const auto* integer = std::get_if<int64_t>(&number)) return static_cast<double>(*integer) == value;
  const auto* real = std::get_if<double>(&number);
  return real != nullptr && *real == value;
}

bool is_made_of_sizes(const Number& number) {
  return !std::holds_alternative<int64_t>(number) && !std::holds_alternative<double>(number);
}

std::optional<std::vector<int64_t>> as_ints(const ir::Arg& arg) {
  const auto* list = arg.as<ir::Arg::List>();
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> out;
  for (const auto& element : *list) {
    const auto integer = as_int(&element);
    if (!integer) return std::nullopt;
    out.push_back(*integer);
  }
  return out;
}

bool is_lowered_type(const ir::Type& type) {
  const auto* tensor = type.tensor();
  if (tensor == nullptr || tensor->device.kind == ir::Device::Kind::Meta) return false;
  switch (tensor->dtype) {
    case DType::U8:
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
    case DType::Bool:
      return true;
    default:
      return false;
  }
}

size_t counted_from_front(int64_t dim, size_t rank) {
  return dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
}

size_t first_dim(const ir::Graph& graph, const Item& item, size_t operand) {
  const auto rank = graph.tensor_type(item.operands[operand].value).sizes.size();
  const bool is_index =
      item.form == Form::Gather || (item.form == Form::Scatter && operand + 1 < item.operands.size());
  if (is_index) return item.index_begin + item.index_rank - rank;
  return item.sizes.size() - rank;
}

namespace {

/// Whether each operand dim is known to equal the item's dim or to have size one.
bool fits(const ir::Graph& graph, const Item& item) {
  for (size_t k = 0; k < item.operands.size(); ++k) {
    if (!item.operands[k].value.valid()) continue;
    const auto first = first_dim(graph, item, k);
    const auto& sizes = graph.tensor_type(item.operands[k].value).sizes;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const auto& size = item.sizes[first + d];
      const bool known = sizes[d].is_constant() && size.is_constant();
      if (!known && !sizes[d].is(1) && !(sizes[d] == size)) return false;
    }
  }
  return true;
}

/// Whether a kernel on another device can be passed the value by value: numbers and states of generators.
bool is_small_on_host(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(graph.storage_of(id)).tensor();
  if (type == nullptr || type->device.kind != ir::Device::Kind::Cpu) return false;
  const auto bytes = type->numel() * ir::size_in_bytes(type->dtype);
  return bytes.is_constant() && bytes.constant() <= 16 && type->is_contiguous();
}

/// Returns why LibTorch has to run a node although there is a lowering: because of the devices of its
/// tensors.
std::string refused_by_device(const ir::Graph& graph, const std::vector<Item>& items,
                              const Settings& settings) {
  for (const auto& item : items) {
    const auto& type = graph.tensor_type(item.output);
    const auto* target = settings.target_for(type.device);
    const auto can_read = [&](ir::ValueId id) {
      return !id.valid() || graph.tensor_type(id).device == type.device ||
             (target->device == ir::Device::Kind::Cuda && is_small_on_host(graph, id));
    };
    const bool reads =
        can_read(item.source) &&
        std::ranges::all_of(item.operands, [&](const Operand& operand) { return can_read(operand.value); });
    if (!reads) return "its tensors are on different devices";
    if (item.form != Form::Scatter || target->scatter == Target::Scatter::Owner) continue;
    if (target->scatter == Target::Scatter::LibTorch) return "atomics would add in any order";
    if (ir::size_in_bytes(type.dtype) < 2)
      return fmt::format("there are no atomics for {}", ir::name(type.dtype));
  }
  return {};
}

std::vector<Item> lower_node(ir::Graph& graph, ir::NodeId index, const Settings& settings, std::string& why) {
  const auto& node = graph.node(index);
  if (!node.effects.none() || node.functional) {
    why = "it has effects";
    return {};
  }
  if (node.outputs.size() != 1 || !is_lowered_type(graph.type_of(node.outputs[0]))) {
    why = "generated code does not support results of this kind";
    return {};
  }
  const auto& type = graph.tensor_type(node.outputs[0]);
  if (settings.target_for(type.device) == nullptr) {
    why = fmt::format("there is no generated code for {}", to_string(type.device));
    return {};
  }
  if (graph.storage_of(node.outputs[0]) != node.outputs[0] || type.numel() == ir::Dim(0) ||
      !ir::is_dense(type) || !(type.offset == ir::Dim(0))) {
    why = "the result is empty, or its memory is not dense";
    return {};
  }
  for (const auto& row : kReductions)
    if (row.op == node.op) return lower_reduction(graph, index, row.combine, why);
  if (node.op == "aten.cat" || node.op == "aten.constant_pad_nd" || node.op == "aten.slice_scatter" ||
      node.op == "aten.select_scatter")
    return lower_parts(graph, index, why);
  if (node.op == "antegrad.constant") return lower_constant(graph, index, why);
  if (node.op.starts_with("antegrad.random_")) return lower_random(graph, index, why);
  if (auto items = lower_indexing(graph, index, why); !items.empty()) return items;
  const auto* info = ir::find_op(node.op);
  if (info != nullptr && info->kind == ir::OpKind::Factory) return lower_factory(graph, index, why);
  if (info != nullptr && info->kind == ir::OpKind::Pointwise)
    return lower_pointwise(graph, index, settings, why);
  if (why.empty()) why = "there is no lowering for this op";
  return {};
}

}  // namespace

std::vector<Item> lower(ir::Graph& graph, ir::NodeId node, const Settings& settings, std::string& why) {
  auto items = lower_node(graph, node, settings, why);
  if (auto refusal = refused_by_device(graph, items, settings); !refusal.empty()) {
    why = std::move(refusal);
    return {};
  }
  if (std::ranges::all_of(items, [&](const Item& item) { return fits(graph, item); })) return items;
  why = "which of its dims are broadcast depends on the values of symbols";
  return {};
}

}  // namespace antegrad::schedule
