#include <algorithm>

#include "schedule/item.h"

namespace antegrad::schedule {
namespace {

/// A box within the output of a node: where it begins and how large it is.
struct Box {
  std::vector<ir::Dim> begin, sizes;
};

/// An item that writes a box of the node's output.
Item part_of(ir::Graph& graph, int32_t node, Form form, const Box& box) {
  auto item = item_of(graph, node, form);
  const auto whole = item.output;
  auto type = graph.tensor_type(whole);
  type.sizes = item.sizes = box.sizes;
  for (size_t d = 0; d < box.begin.size(); ++d) type.offset = type.offset + box.begin[d] * type.strides[d];
  item.output = graph.add_value(type, whole);
  item.part = true;
  return item;
}

Item copy_part(ir::Graph& graph, int32_t node, ir::ValueId from, const Box& box) {
  auto item = part_of(graph, node, Form::Pointwise, box);
  item.expression = "a";
  item.operands = {{from, {}, item.result}};
  return item;
}

std::vector<Item> lower_cat(ir::Graph& graph, int32_t index, std::string& why) {
  const auto node = graph.nodes[static_cast<size_t>(index)];
  const auto type = graph.tensor_type(node.outputs[0]);
  const auto* dim_arg = find_arg(node, 1);
  const int64_t given = dim_arg == nullptr ? 0 : dim_arg->as<ir::Dim>()->constant();
  const auto dim = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(type.sizes.size()) : given);
  std::vector<std::pair<ir::ValueId, Box>> parts;
  Box box{std::vector<ir::Dim>(type.sizes.size()), {}};
  for (const auto& arg : *node.args[0].as<ir::Arg::List>()) {
    const auto* from = arg.as<ir::ValueId>();
    const auto* part = from == nullptr ? nullptr : graph.type_of(*from).tensor();
    if (part == nullptr || part->dtype != type.dtype || part->sizes.size() != type.sizes.size() ||
        part->numel() == ir::Dim(0)) {
      why = "its parts have other types or ranks than the result";
      return {};
    }
    box.sizes = part->sizes;
    parts.emplace_back(*from, box);
    box.begin[dim] = box.begin[dim] + part->sizes[dim];
  }
  std::vector<Item> items;
  for (const auto& [from, place] : parts) items.push_back(copy_part(graph, index, from, place));
  return items;
}

/// The input, and per padded dim one box before and one after it: beside what earlier dims leave.
std::vector<Item> lower_pad(ir::Graph& graph, int32_t index, std::string& why) {
  const auto node = graph.nodes[static_cast<size_t>(index)];
  const auto* from = node.args[0].as<ir::ValueId>();
  const auto pads = as_ints(node.args[1]);
  const auto* value = find_arg(node, 2);
  const auto number = value == nullptr ? std::optional<Number>(int64_t{0}) : as_number(*value);
  const auto type = graph.tensor_type(node.outputs[0]);
  why = "its padding is not a plain one";
  if (from == nullptr || !pads || !number || !is_lowered_type(graph.type_of(*from))) return {};
  const auto inner = graph.tensor_type(*from);
  if (inner.numel() == ir::Dim(0) || inner.dtype != type.dtype) return {};
  for (auto pad : *pads)
    if (pad < 0) return {};
  const auto rank = type.sizes.size();
  Box box{std::vector<ir::Dim>(rank), type.sizes};
  std::vector<Box> filled;
  for (size_t d = 0; d < rank; ++d) {
    const auto at = 2 * (rank - 1 - d);
    const int64_t before = at < pads->size() ? (*pads)[at] : 0,
                  after = at < pads->size() ? (*pads)[at + 1] : 0;
    auto slab = box;
    slab.sizes[d] = before;
    if (before > 0) filled.push_back(slab);
    slab.begin[d] = inner.sizes[d] + before;
    slab.sizes[d] = after;
    if (after > 0) filled.push_back(slab);
    box.begin[d] = before;
    box.sizes[d] = inner.sizes[d];
  }
  std::vector<Item> items = {copy_part(graph, index, *from, box)};
  for (const auto& slab : filled) {
    items.push_back(part_of(graph, index, Form::Constant, slab));
    items.back().number = *number;
  }
  return items;
}

/// A part of another tensor, as a view of its own.
ir::ValueId part_view(ir::Graph& graph, ir::ValueId of, const Box& box) {
  auto type = graph.tensor_type(of);
  for (size_t d = 0; d < box.begin.size(); ++d) type.offset = type.offset + box.begin[d] * type.strides[d];
  type.sizes = box.sizes;
  return graph.add_value(type, graph.storage_of(of));
}

/// slice_scatter and select_scatter: what is written, and what stays before and after it.
std::vector<Item> lower_scatter(ir::Graph& graph, int32_t index, std::string& why) {
  const auto node = graph.nodes[static_cast<size_t>(index)];
  const auto type = graph.tensor_type(node.outputs[0]);
  const auto* self = node.args[0].as<ir::ValueId>();
  const auto* source = node.args.size() > 1 ? node.args[1].as<ir::ValueId>() : nullptr;
  const auto integer = [&](size_t position, int64_t otherwise) {
    const auto* arg = find_arg(node, position);
    const auto* dim = arg == nullptr ? nullptr : arg->as<ir::Dim>();
    return arg == nullptr                         ? std::optional(otherwise)
           : dim != nullptr && dim->is_constant() ? std::optional(dim->constant())
                                                  : std::nullopt;
  };
  why = "it does not write one box";
  const auto dim = integer(2, 0);
  if (self == nullptr || source == nullptr || !dim || type.sizes.empty()) return {};
  if (graph.tensor_type(*self).dtype != type.dtype || graph.tensor_type(*source).dtype != type.dtype ||
      !is_lowered_type(graph.type_of(*self)))
    return {};
  for (auto id : {*self, *source})
    if (graph.tensor_type(graph.storage_of(id)).dtype != type.dtype) return {};
  const auto d = static_cast<size_t>(*dim < 0 ? *dim + static_cast<int64_t>(type.sizes.size()) : *dim);
  if (!type.sizes[d].is_constant()) return {};
  const auto size = type.sizes[d].constant();
  const bool selects = node.op == "aten.select_scatter";
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const auto first = integer(3, 0), last = selects ? first : integer(4, size),
             step = selects ? std::optional<int64_t>(1) : integer(5, 1);
  if (!first || !last || !step || *step != 1) return {};
  const auto begin = clamp(*first), end = selects ? begin + 1 : std::max(begin, clamp(*last));
  if (begin >= end || end > size) return {};
  Box box{std::vector<ir::Dim>(type.sizes.size()), type.sizes};
  const auto between = [&](int64_t from, int64_t to) {
    auto part = box;
    part.begin[d] = from;
    part.sizes[d] = to - from;
    return part;
  };
  auto written = *source;
  if (selects) {
    auto with_dim = graph.tensor_type(*source);
    with_dim.sizes.insert(with_dim.sizes.begin() + static_cast<int64_t>(d), ir::Dim(1));
    with_dim.strides.insert(with_dim.strides.begin() + static_cast<int64_t>(d), ir::Dim(1));
    written = graph.add_value(with_dim, graph.storage_of(*source));
  }
  if (!(graph.tensor_type(written).sizes == between(begin, end).sizes)) return {};
  std::vector<Item> items = {copy_part(graph, index, written, between(begin, end))};
  if (begin > 0)
    items.push_back(copy_part(graph, index, part_view(graph, *self, between(0, begin)), between(0, begin)));
  if (end < size)
    items.push_back(copy_part(graph, index, part_view(graph, *self, between(end, size)), between(end, size)));
  return items;
}

}  // namespace

std::vector<Item> lower_parts(ir::Graph& graph, int32_t node, std::string& why) {
  const auto op = graph.nodes[static_cast<size_t>(node)].op;
  if (op == "aten.cat") return lower_cat(graph, node, why);
  return op == "aten.constant_pad_nd" ? lower_pad(graph, node, why) : lower_scatter(graph, node, why);
}

}  // namespace antegrad::schedule
