#include "schedule/group.h"

#include <algorithm>

#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

const ir::Dim& kOneDim = *new const ir::Dim(1);

void replace_in(Atoms& atoms, int32_t atom, const Atoms& by) {
  const auto found = std::ranges::find(atoms, atom);
  if (found == atoms.end()) return;
  const auto at = atoms.erase(found);
  atoms.insert(at, by.begin(), by.end());
}

bool is_reshape(std::string_view op) {
  for (const auto* name :
       {"aten.view", "aten.reshape", "aten._reshape_alias", "aten.squeeze", "aten.squeeze.dim",
        "aten.squeeze.dims", "aten.unsqueeze", "aten.flatten.using_ints", "aten.unflatten.int", "aten.alias",
        "aten.detach", "antegrad.alias", "aten.view_as", "aten.reshape_as", "aten.lift_fresh"})
    if (op == name) return true;
  return false;
}

/// Returns the input dim for each result dim.
std::optional<std::vector<size_t>> permutation(const ir::Node& node, size_t rank) {
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (node.op == "aten.t") {
    if (rank == 2) std::swap(order[0], order[1]);
    return order;
  }
  if (node.op == "aten.transpose.int" || node.op == "aten.swapaxes" || node.op == "aten.swapdims") {
    const auto a = as_int(&node.args[1]), b = as_int(&node.args[2]);
    if (!a || !b) return std::nullopt;
    if (rank > 0) std::swap(order[counted_from_front(*a, rank)], order[counted_from_front(*b, rank)]);
    return order;
  }
  if (node.op == "aten.permute") {
    const auto dims = as_ints(node.args[1]);
    if (!dims) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) order[i] = counted_from_front((*dims)[i], rank);
    return order;
  }
  return std::nullopt;
}

}  // namespace

bool is_subset(const Atoms& a, const Atoms& b) {
  return std::ranges::all_of(a, [&](int32_t x) { return std::ranges::find(b, x) != b.end(); });
}
bool same_set(const Atoms& a, const Atoms& b) { return a.size() == b.size() && is_subset(a, b); }
Atoms united(Atoms a, const Atoms& b) {
  for (auto x : b)
    if (std::ranges::find(a, x) == a.end()) a.push_back(x);
  return a;
}
Atoms without(const Atoms& a, const Atoms& b) {
  Atoms out;
  for (auto x : a)
    if (std::ranges::find(b, x) == b.end()) out.push_back(x);
  return out;
}

int32_t Group::add_atom(ir::Dim extent) {
  extents.push_back(std::move(extent));
  dead_.push_back(false);
  return static_cast<int32_t>(extents.size()) - 1;
}

void Group::replace(int32_t atom, const Atoms& by) {
  dead_[atom] = true;
  const auto replace_in_all = [&](auto& table) {
    for (auto& [key, dims] : table)
      for (auto& atoms : dims) replace_in(atoms, atom, by);
  };
  replace_in_all(placement);
  replace_in_all(values);
  for (auto* dims : pending)
    for (auto& atoms : *dims)
      if (atoms) replace_in(*atoms, atom, by);
  replace_in(outer, atom, by);
  replace_in(sink_outer, atom, by);
  for (auto& space : spaces) replace_in(space, atom, by);
  if (lane == atom) lane = by.back();
}

void Group::split_into(Atoms rows, Atoms inner, int32_t vector_over) {
  split = true;
  outer = std::move(rows);
  spaces = {std::move(inner)};
  lane = vector_over;
}

std::pair<int32_t, int32_t> Group::split_atom(int32_t atom, const ir::Dim& slow, const ir::Dim& fast) {
  const auto first = add_atom(slow), second = add_atom(fast);
  replace(atom, {first, second});
  return {first, second};
}

Atoms Group::all_atoms() const {
  Atoms out;
  for (size_t i = 0; i < extents.size(); ++i)
    if (!dead_[i]) out.push_back(static_cast<int32_t>(i));
  return out;
}

ir::Dim Group::product(const Atoms& atoms) const {
  ir::Dim out = 1;
  for (auto a : atoms) out = out * extents[a];
  return out;
}

bool Group::cut(std::vector<Piece>& pieces, size_t at, const ir::Dim& need, Dims& taken) {
  auto& piece = pieces[at];
  if (divided(need, piece.extent)) return true;
  const auto rest = divided(piece.extent, need);
  if (!rest) return false;
  Piece fast{-1, *rest};
  if (piece.atom >= 0) {
    const auto [first, second] = split_atom(piece.atom, need, *rest);
    for (auto& dims : taken)
      if (dims) replace_in(*dims, piece.atom, {first, second});
    piece.atom = first;
    fast.atom = second;
  }
  piece.extent = need;
  pieces.insert(pieces.begin() + static_cast<int64_t>(at) + 1, fast);
  return true;
}

std::optional<Dims> Group::regroup(Dims in, const std::vector<ir::Dim>& in_sizes,
                                   const std::vector<ir::Dim>& out_sizes) {
  // The loops of `in` in order, with free dims between them.
  std::vector<Piece> pieces;
  for (size_t d = 0; d < in.size(); ++d) {
    if (!in[d])
      pieces.push_back({-1, in_sizes[d]});
    else
      for (auto atom : *in[d]) pieces.push_back({atom, extents[atom]});
  }
  std::erase_if(pieces, [](const Piece& piece) { return piece.extent == kOneDim; });
  Dims out;
  size_t next = 0;
  for (const auto& size : out_sizes) {
    Atoms atoms;
    bool is_free = false;
    ir::Dim have = 1;
    while (!(have == size)) {
      if (next == pieces.size()) return std::nullopt;
      const auto need = divided(size, have);
      if (!need || need->is(0) || !cut(pieces, next, *need, out)) return std::nullopt;
      const auto taken = pieces[next++];
      have = have * taken.extent;
      if (taken.atom < 0) {
        is_free = true;
      } else {
        atoms.push_back(taken.atom);
      }
      if (is_free && !atoms.empty()) return std::nullopt;
    }
    if (is_free)
      out.emplace_back(std::nullopt);
    else
      out.emplace_back(std::move(atoms));
  }
  return next == pieces.size() ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<Dims> Group::through(const ir::Node& view, const Dims& in, const std::vector<ir::Dim>& in_sizes,
                                   const std::vector<ir::Dim>& out_sizes) {
  if (is_reshape(view.op))
    return in_sizes == out_sizes ? std::optional(in) : regroup(in, in_sizes, out_sizes);
  if (view.op == "aten.expand" || view.op == "aten.expand_as") {
    Dims out(out_sizes.size());
    const size_t added = out_sizes.size() - in.size();
    for (size_t d = 0; d < in.size(); ++d) {
      if (in_sizes[d] == out_sizes[d + added])
        out[d + added] = in[d];
      else if (!(in_sizes[d] == kOneDim))
        return std::nullopt;
    }
    return out;
  }
  if (const auto order = permutation(view, in.size())) {
    Dims out;
    for (auto d : *order) out.push_back(in[d]);
    return out;
  }
  if (in_sizes == out_sizes && (view.op == "aten.slice.Tensor" || view.op == "aten.contiguous")) return in;
  return std::nullopt;
}

}  // namespace antegrad::schedule
