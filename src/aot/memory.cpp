#include "aot/memory.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aot/views.h"

namespace antegrad::aot {

RootId Memory::add_root(ir::ValueId traced, ir::ValueId value) {
  const auto root = roots_.push_back({value, trace_.tensor_type(traced), 0, false});
  at(traced).root = root;
  at(traced).is_root = true;
  return root;
}

RootId Memory::add_base(ir::ValueId value, int64_t first) {
  auto type = emit_.type(value);
  type.offset = first;
  return roots_.push_back({value, std::move(type), 0, false});
}

IdMap<RootId, int32_t> Memory::generations() const {
  IdMap<RootId, int32_t> all;
  for (const auto& root : roots_) all.push_back(root.generation);
  return all;
}

void Memory::add_region(ir::ValueId traced, RootId root) { at(traced).root = root; }

void Memory::add_view(ir::ValueId traced, ir::ValueId parent, const ir::Node& view, int32_t output,
                      ir::ValueId value) {
  auto& tensor = at(traced);
  tensor.root = at(parent).root;
  tensor.view = {parent, &view, output};
  tensor.value = value;
  tensor.generation = value.valid() ? roots_[tensor.root].generation : -1;
}

void Memory::add_changed(ir::ValueId traced, ir::ValueId object, ir::ValueId parent, const ir::Node& view,
                         ir::ValueId value) {
  add_view(traced, parent, view, 0, value);
  at(traced).object = object;
}

/// Returns whether the view stays inside its parent, which as_strided may leave.
bool Memory::is_inside_parent(ir::ValueId traced) const {
  const auto& view = at(traced).view;
  if (view.node->op != "antegrad.strided") return true;
  return covers(trace_.tensor_type(view.parent), trace_.tensor_type(traced));
}

int64_t Memory::offset_in_root(ir::ValueId traced) const {
  return trace_.tensor_type(traced).offset.constant() - roots_[at(traced).root].type.offset.constant();
}

ir::ValueId Memory::read(ir::ValueId traced) {
  auto& tensor = at(traced);
  if (!tensor.root.valid())
    throw Error(ErrorCode::Internal, "functionalize",
                fmt::format("traced value {} has no memory", traced.index));
  const auto& root = roots_[tensor.root];
  if (tensor.is_root) return root.value;
  if (tensor.generation != root.generation) {
    const auto value = replay(traced);
    at(traced).value = value;
    at(traced).generation = roots_[tensor.root].generation;
  }
  return at(traced).value;
}

ir::ValueId Memory::replay(ir::ValueId traced) {
  const auto view = at(traced).view;
  const auto& root = roots_[at(traced).root];
  if (view.node == nullptr ||
      (!is_inside_parent(traced) && trace_.tensor_type(traced).dtype == root.type.dtype))
    return emit_.strided(root.value, trace_.tensor_type(traced), offset_in_root(traced));
  const auto parent = read(view.parent);
  if (view.node->op == "antegrad.alias") return parent;
  if (view.node->op == "antegrad.strided")
    return emit_.strided(parent, trace_.tensor_type(traced), view.node->args[3].as<ir::Dim>()->constant());
  auto node = *view.node;
  node.outputs.clear();
  node.args[0] = parent;
  return emit_.infer(std::move(node)).at(view.output);
}

ir::ValueId Memory::scatter_into_root(ir::ValueId traced, ir::ValueId value) {
  const auto& root = roots_[at(traced).root];
  const auto& type = trace_.tensor_type(traced);
  if (type.dtype != root.type.dtype)
    throw Error(ErrorCode::UnsupportedOp, "functionalize",
                fmt::format("a {} view of {} memory is written through a view that has no inverse",
                            ir::name(type.dtype), ir::name(root.type.dtype)),
                "Write to the tensor itself, or to a view of the same dtype");
  return emit_.strided_scatter(root.value, value, type, offset_in_root(traced));
}

void Memory::write(ir::ValueId traced, ir::ValueId value) {
  const auto& own_type = trace_.tensor_type(traced);
  value = emit_.fit(value, own_type);
  const auto first = value;
  auto here = traced;
  while (!at(here).is_root) {
    const auto view = at(here).view;
    const bool by_parent =
        view.node != nullptr && !overlaps_itself(trace_.tensor_type(view.parent)) && is_inside_parent(here);
    if (!by_parent) {
      value = scatter_into_root(here, value);
      break;
    }
    const auto parent = read(view.parent);
    auto updated = undo_view(emit_, *view.node, parent, value);
    if (!updated.valid()) {
      const auto& parent_type = trace_.tensor_type(view.parent);
      const auto& type = trace_.tensor_type(here);
      updated = emit_.strided_scatter(parent, value, type, (type.offset - parent_type.offset).constant());
    }
    value = emit_.fit(updated, trace_.tensor_type(view.parent));
    here = view.parent;
  }
  auto& root = roots_[at(traced).root];
  root.value = value;
  ++root.generation;
  at(traced).value = first;
  at(traced).generation = root.generation;
}

void Memory::replace_storage(ir::ValueId traced, ir::ValueId successor, ir::ValueId value) {
  auto& root = roots_[at(traced).root];
  root.value = value;
  root.type = trace_.tensor_type(successor);
  root.regrown = true;
  ++root.generation;
  at(successor).root = at(traced).root;
  at(successor).is_root = true;
  at(successor).object = traced;
  at(traced).is_root = false;  // from here on a region of the larger storage
}

}  // namespace antegrad::aot
