#include "aot/views.h"

#include <string_view>
#include <unordered_map>

namespace antegrad::aot {
namespace {

struct Undo {
  Emitter& emit;
  const ir::Node& view;
  ir::ValueId parent;
  ir::ValueId contents;

  const ir::TensorType& parent_type() const { return emit.type(parent); }
  int64_t rank() const { return static_cast<int64_t>(parent_type().sizes.size()); }
};
using UndoRule = ir::ValueId (*)(const Undo&);

ir::ValueId same(const Undo& u) { return u.contents; }

ir::ValueId reshaped(const Undo& u) {
  ir::Arg::List sizes;
  for (const auto& dim : u.parent_type().sizes) sizes.emplace_back(dim);
  return u.emit.op("aten.view", {u.contents, ir::Arg(std::move(sizes))});
}

/// Inverts a view op that is its own inverse, by applying it again with the same arguments.
ir::ValueId again(const Undo& u) {
  auto args = u.view.args;
  args[0] = u.contents;
  return u.emit.op(u.view.op, std::move(args));
}

ir::ValueId permuted_back(const Undo& u) {
  const auto& dims = *u.view.args[1].as<ir::Arg::List>();
  std::vector<int64_t> inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    auto d = dims[i].as<ir::Dim>()->constant();
    if (d < 0) d += u.rank();
    inverse[d] = static_cast<int64_t>(i);
  }
  ir::Arg::List list(inverse.begin(), inverse.end());
  return u.emit.op("aten.permute", {u.contents, ir::Arg(std::move(list))});
}

/// aten.x → aten.x_scatter with the same arguments.
template <const char* kScatter>
ir::ValueId scattered(const Undo& u) {
  std::vector<ir::Arg> args = {u.parent, u.contents};
  args.insert(args.end(), u.view.args.begin() + 1, u.view.args.end());
  return u.emit.op(kScatter, std::move(args), u.view.attrs);
}
constexpr char kSliceScatter[] = "aten.slice_scatter";
constexpr char kSelectScatter[] = "aten.select_scatter";
constexpr char kDiagonalScatter[] = "aten.diagonal_scatter";

ir::ValueId as_complex(const Undo& u) { return u.emit.op("aten.view_as_complex", {u.contents}); }
ir::ValueId as_real(const Undo& u) { return u.emit.op("aten.view_as_real", {u.contents}); }
ir::ValueId as_parent_dtype(const Undo& u) {
  return u.emit.op("aten.view.dtype", {u.contents, u.parent_type().dtype});
}
ir::ValueId conjugated(const Undo& u) { return u.emit.op("aten.conj_physical", {u.contents}); }
ir::ValueId negated(const Undo& u) { return u.emit.op("aten.neg", {u.contents}); }

const auto& kUndo = *new const std::unordered_map<std::string_view, UndoRule>{
    {"antegrad.alias", same},
    {"aten.alias", same},
    {"aten.detach", same},
    {"aten.lift_fresh", same},
    {"aten.view", reshaped},
    {"aten._unsafe_view", reshaped},
    {"aten._reshape_alias", reshaped},
    {"aten.squeeze", reshaped},
    {"aten.squeeze.dim", reshaped},
    {"aten.squeeze.dims", reshaped},
    {"aten.unsqueeze", reshaped},
    {"aten.t", again},
    {"aten.transpose.int", again},
    {"aten.permute", permuted_back},
    {"aten.slice.Tensor", scattered<kSliceScatter>},
    {"aten.select.int", scattered<kSelectScatter>},
    {"aten.diagonal", scattered<kDiagonalScatter>},
    {"aten.view_as_real", as_complex},
    {"aten.view_as_complex", as_real},
    {"aten.view.dtype", as_parent_dtype},
    {"aten._conj", conjugated},
    {"aten._neg_view", negated},
};

}  // namespace

ir::ValueId undo_view(Emitter& emit, const ir::Node& view, ir::ValueId parent, ir::ValueId contents) {
  auto rule = kUndo.find(view.op);
  return rule == kUndo.end() ? ir::ValueId{} : rule->second(Undo{emit, view, parent, contents});
}

std::string view_op_of_inplace(const std::string& op) {
  const auto dot = op.find('.', op.find('.') + 1);  // the overload, if any
  auto name = op.substr(0, dot);
  if (!name.empty() && name.back() == '_') name.pop_back();
  if (name == "aten.swapaxes" || name == "aten.swapdims") return "aten.transpose.int";
  if (name == "aten.transpose") return "aten.transpose.int";
  return dot == std::string::npos ? name : name + op.substr(dot);
}

}  // namespace antegrad::aot
