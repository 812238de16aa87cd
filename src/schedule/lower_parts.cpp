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

}  // namespace

std::vector<Item> lower_parts(ir::Graph& graph, int32_t node, std::string& why) {
  return graph.nodes[static_cast<size_t>(node)].op == "aten.cat" ? lower_cat(graph, node, why)
                                                                 : lower_pad(graph, node, why);
}

}  // namespace antegrad::schedule
