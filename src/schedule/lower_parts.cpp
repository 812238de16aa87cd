#include <algorithm>
#include <limits>

#include "schedule/item.h"
#include "schedule/promotion.h"
#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

/// A box within the output of a node: where it begins and how large it is.
struct Box {
  std::vector<ir::Dim> begin, sizes;
};

/// An item that writes a box of the node's output.
Item part_of(ir::Graph& graph, ir::NodeId node, Form form, const Box& box) {
  auto item = item_of(graph, node, form);
  const auto whole = item.output;
  auto type = graph.tensor_type(whole);
  type.sizes = item.sizes = box.sizes;
  for (size_t d = 0; d < box.begin.size(); ++d) type.offset = type.offset + box.begin[d] * type.strides[d];
  item.output = graph.add_value(type, whole);
  item.part = true;
  return item;
}

Item copy_part(ir::Graph& graph, ir::NodeId node, ir::ValueId from, const Box& box) {
  auto item = part_of(graph, node, Form::Pointwise, box);
  item.expression = "a";
  item.operands = {{from, {}, item.result}};
  return item;
}

std::vector<Item> lower_cat(ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto node = graph.node(index);
  const auto type = graph.tensor_type(node.outputs[0]);
  const auto* dim_arg = find_arg(node, 1);
  const auto given = dim_arg == nullptr ? std::optional<int64_t>(0) : as_int(dim_arg);
  why = "its dim is not known";
  if (!given) return {};
  const auto dim = counted_from_front(*given, type.sizes.size());
  constexpr size_t kMostParts = 16;
  why = "it has so many parts that copying them is faster";
  if (node.args[0].as<ir::Arg::List>()->size() > kMostParts) return {};
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

/// Returns nothing when a padding is, or may be, negative.
std::optional<std::vector<ir::Dim>> paddings(const ir::Graph& graph, const ir::Arg& arg) {
  const auto* list = arg.as<ir::Arg::List>();
  if (list == nullptr) return std::nullopt;
  std::vector<ir::Dim> out;
  for (const auto& element : *list) {
    const auto* pad = element.as<ir::Dim>();
    if (pad == nullptr || !is_at_least(graph, *pad, 0)) return std::nullopt;
    out.push_back(*pad);
  }
  return out;
}

/// Writes the input and, for each padded dim, one box before and one after what earlier dims leave.
std::vector<Item> lower_pad(ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto node = graph.node(index);
  const auto* from = node.args[0].as<ir::ValueId>();
  const auto pads = paddings(graph, node.args[1]);
  const auto* value = find_arg(node, 2);
  const auto type = graph.tensor_type(node.outputs[0]);
  const auto given = value == nullptr ? std::optional<Number>(int64_t{0}) : as_number(*value);
  const auto number = given ? converted(*given, type.dtype) : given;
  why = "generated code does not support this padding";
  if (from == nullptr || !pads || !number || !is_lowered_type(graph.type_of(*from))) return {};
  const auto inner = graph.tensor_type(*from);
  if (inner.numel() == ir::Dim(0) || inner.dtype != type.dtype) return {};
  const auto rank = type.sizes.size();
  Box box{std::vector<ir::Dim>(rank), type.sizes};
  std::vector<Box> filled;
  for (size_t d = 0; d < rank; ++d) {
    const auto at = 2 * (rank - 1 - d);
    const auto before = at < pads->size() ? (*pads)[at] : ir::Dim(0),
               after = at < pads->size() ? (*pads)[at + 1] : ir::Dim(0);
    auto slab = box;
    slab.sizes[d] = before;
    if (!before.is(0)) filled.push_back(slab);
    slab.begin[d] = inner.sizes[d] + before;
    slab.sizes[d] = after;
    if (!after.is(0)) filled.push_back(slab);
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

/// Returns a view of a part of another tensor.
ir::ValueId part_view(ir::Graph& graph, ir::ValueId of, const Box& box) {
  auto type = graph.tensor_type(of);
  for (size_t d = 0; d < box.begin.size(); ++d) type.offset = type.offset + box.begin[d] * type.strides[d];
  type.sizes = box.sizes;
  return graph.add_value(type, graph.storage_of(of));
}

/// The range of a dim that slice_scatter or select_scatter writes.
struct Stretch {
  size_t dim = 0;
  ir::Dim begin, end;
};

/// Returns a position as LibTorch normalises it: negative ones count from the end and those out of range are
/// clamped. A position that is not known to be out of range is in range, or the source would not have the
/// size it has.
std::optional<ir::Dim> clamped(const ir::Graph& graph, ir::Dim at, const ir::Dim& size) {
  const auto range = range_of(graph, at);
  if (range.upper < 0) at = at + size;
  if (range.lower < 0 && range.upper >= 0) return std::nullopt;
  constexpr auto kEnd = std::numeric_limits<int64_t>::max();
  if (at.is(kEnd) || is_at_least(graph, at - size, 0)) return size;
  if (is_at_least(graph, 0 - at, 0)) return ir::Dim(0);
  return is_at_least(graph, at, 0) ? std::optional(at) : std::nullopt;
}

/// Returns nothing when the range is unknown, may be empty or has a step.
std::optional<Stretch> written_stretch(const ir::Graph& graph, const ir::Node& node,
                                       const std::vector<ir::Dim>& sizes) {
  const bool selects = node.op == "aten.select_scatter";
  const auto integer = [&](size_t position, const ir::Dim& otherwise) -> std::optional<ir::Dim> {
    const auto* arg = find_arg(node, position);
    if (arg == nullptr) return otherwise;
    const auto* dim = arg->as<ir::Dim>();
    return dim == nullptr ? std::nullopt : std::optional(*dim);
  };
  const auto dim = integer(2, 0), step = selects ? std::optional<ir::Dim>(1) : integer(5, 1);
  if (!dim || !dim->is_constant() || !step || !step->is(1) || sizes.empty()) return std::nullopt;
  Stretch out;
  out.dim = counted_from_front(dim->constant(), sizes.size());
  const auto& size = sizes[out.dim];
  const auto first = integer(3, 0), last = selects ? first : integer(4, size);
  if (!first || !last) return std::nullopt;
  const auto begin = clamped(graph, *first, size), end = clamped(graph, *last, size);
  if (!begin || !end) return std::nullopt;
  out.begin = *begin;
  out.end = selects ? *begin + 1 : *end;
  const auto after = size - out.end;
  const bool is_outside = after.is_constant() && after.constant() < 0;
  return !is_outside && is_at_least(graph, out.end - out.begin, 1) ? std::optional(out) : std::nullopt;
}

/// Lowers slice_scatter and select_scatter: copies the source, and what stays before and after it.
std::vector<Item> lower_scatter(ir::Graph& graph, ir::NodeId index, std::string& why) {
  const auto node = graph.node(index);
  const auto type = graph.tensor_type(node.outputs[0]);
  const auto* self = node.args[0].as<ir::ValueId>();
  const auto* source = node.args.size() > 1 ? node.args[1].as<ir::ValueId>() : nullptr;
  why = "it does not write one contiguous range of a dim";
  if (self == nullptr || source == nullptr) return {};
  if (graph.tensor_type(*self).dtype != type.dtype || graph.tensor_type(*source).dtype != type.dtype ||
      !is_lowered_type(graph.type_of(*self)))
    return {};
  for (auto id : {*self, *source})
    if (graph.tensor_type(graph.storage_of(id)).dtype != type.dtype) return {};
  const auto stretch = written_stretch(graph, node, type.sizes);
  if (!stretch) return {};
  const auto& [d, begin, end] = *stretch;
  const auto between = [&, d = d](const ir::Dim& from, const ir::Dim& to) {
    Box part{std::vector<ir::Dim>(type.sizes.size()), type.sizes};
    part.begin[d] = from;
    part.sizes[d] = to - from;
    return part;
  };
  auto written = *source;
  if (node.op == "aten.select_scatter") {
    auto with_dim = graph.tensor_type(*source);
    with_dim.sizes.insert(with_dim.sizes.begin() + static_cast<int64_t>(d), ir::Dim(1));
    with_dim.strides.insert(with_dim.strides.begin() + static_cast<int64_t>(d), ir::Dim(1));
    written = graph.add_value(with_dim, graph.storage_of(*source));
  }
  if (!(graph.tensor_type(written).sizes == between(begin, end).sizes)) return {};
  std::vector<Item> items = {copy_part(graph, index, written, between(begin, end))};
  const auto keep = [&](const Box& part) {
    items.push_back(copy_part(graph, index, part_view(graph, *self, part), part));
  };
  if (!begin.is(0)) keep(between(0, begin));
  if (!(end == type.sizes[d])) keep(between(end, type.sizes[d]));
  return items;
}

}  // namespace

std::vector<Item> lower_parts(ir::Graph& graph, ir::NodeId node, std::string& why) {
  const auto op = graph.node(node).op;
  if (op == "aten.cat") return lower_cat(graph, node, why);
  return op == "aten.constant_pad_nd" ? lower_pad(graph, node, why) : lower_scatter(graph, node, why);
}

}  // namespace antegrad::schedule
