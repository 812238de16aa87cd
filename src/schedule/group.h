#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "schedule/clusters.h"
#include "schedule/item.h"

namespace antegrad::schedule {

/// A dim as the row-major product of loops ("atoms" of a group); empty: its size is 1.
using Atoms = std::vector<int32_t>;
/// Per dim; nothing: free, whatever is read does not depend on it.
using Dims = std::vector<std::optional<Atoms>>;

/// Items that become one kernel: a set of loops, and for every item which of its dims are which loops.
///
/// A group is flat (all items run over all loops) until a reduction splits its loops into outer ones, which
/// the reduction keeps, and inner ones. From then on items run over the outer loops only (rows), or over
/// these and one of the spaces of inner loops. A sink is a reduction over outer loops, whose result is
/// complete only after the kernel.
class Group {
 public:
  ClusterId cluster;         ///< its place in the order of execution
  bool is_absorbed = false;  ///< by another group, which has its items now
  std::vector<ItemId> items;
  std::vector<ir::Dim> extents;  ///< per atom, those that were split included
  bool split = false;
  int32_t lane = -1;          ///< when split: the outer atom to vectorise over; -1: inner loops are
  Atoms outer;                ///< when split
  std::vector<Atoms> spaces;  ///< when split: the inner atoms
  std::unordered_map<ItemId, std::vector<Atoms>> placement;    ///< of the iteration dims of items
  std::unordered_map<ir::ValueId, std::vector<Atoms>> values;  ///< of the dims of values made here
  std::vector<ItemId> sinks;                                   ///< items that are
  Atoms sink_outer;            ///< what a sink over some of the loops of a flat group wants to be outer
  ir::Dim chunks;              ///< as Kernel::chunks; set by the first sink
  std::vector<Dims*> pending;  ///< dims under construction, which must follow when atoms are split

  int32_t add_atom(ir::Dim extent);
  /// Rows over `outer`, each of one space; see `lane`.
  void split_into(Atoms outer, Atoms inner, int32_t lane = -1);
  /// In row-major order; the atom is replaced wherever it is used.
  std::pair<int32_t, int32_t> split_atom(int32_t atom, const ir::Dim& slow, const ir::Dim& fast);
  Atoms all_atoms() const;  ///< in use, ascending
  ir::Dim product(const Atoms& atoms) const;

  /// What a view of a value with dims `in` looks like: sizes are those of the view's input and result. Atoms
  /// may be split. Nothing: the view reads other elements, or in another order.
  std::optional<Dims> through(const ir::Node& view, const Dims& in, const std::vector<ir::Dim>& in_sizes,
                              const std::vector<ir::Dim>& out_sizes);
  std::optional<Dims> regroup(Dims in, const std::vector<ir::Dim>& in_sizes,
                              const std::vector<ir::Dim>& out_sizes);

 private:
  struct Piece {
    int32_t atom;  ///< -1: free
    ir::Dim extent;
  };
  /// Splits a piece that is more than the rest of a dim needs. False: the dim cannot have it, nor a part.
  bool cut(std::vector<Piece>& pieces, size_t at, const ir::Dim& need, Dims& taken);
  void replace(int32_t atom, const Atoms& by);
  std::vector<bool> dead_;
};

bool is_subset(const Atoms& a, const Atoms& b);
bool same_set(const Atoms& a, const Atoms& b);
Atoms united(Atoms a, const Atoms& b);
Atoms without(const Atoms& a, const Atoms& b);

}  // namespace antegrad::schedule
