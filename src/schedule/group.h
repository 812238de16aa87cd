#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "schedule/clusters.h"
#include "schedule/item.h"

namespace antegrad::schedule {

/// A dim as the row-major product of loops ("atoms" of a group). Empty for a dim of size 1.
using Atoms = std::vector<int32_t>;
/// The atoms of each dim. Nothing for a free dim: one that the value does not depend on.
using Dims = std::vector<std::optional<Atoms>>;

/// Items that become one kernel: a set of loops ("atoms") and, for every item, a mapping of its dims to
/// loops.
///
/// A group is flat (all items run over all loops) until a reduction splits its loops into outer loops, which
/// the reduction keeps, and inner loops. From then on an item runs either over the outer loops only (once per
/// row) or over the outer loops and one of the spaces of inner loops. A sink is a reduction over the outer
/// loops, whose result is complete only after the kernel.
class Group {
 public:
  ClusterId cluster;         ///< its node in the dependency graph
  ir::Device device;         ///< of what its items compute
  bool is_absorbed = false;  ///< merged into another group, which now has its items
  std::vector<ItemId> items;
  std::vector<ir::Dim> extents;  ///< per atom, including atoms that were split and are no longer in use
  bool split = false;
  int32_t lane = -1;  ///< when split: the outer atom to vectorise over; -1 to vectorise the inner loops
  Atoms outer;        ///< when split: the atoms of the rows
  std::vector<Atoms> spaces;                                   ///< when split: the inner atoms of each space
  std::unordered_map<ItemId, std::vector<Atoms>> placement;    ///< atoms of the iteration dims of items
  std::unordered_map<ir::ValueId, std::vector<Atoms>> values;  ///< atoms of the dims of values computed here
  std::vector<ItemId> sinks;                                   ///< those of `items` that are sinks
  Atoms sink_outer;  ///< flat groups: the atoms that a sink over some of the loops needs as outer loops
  ir::Dim chunks;    ///< as Kernel::chunks; set by the first sink
  std::vector<Dims*> pending;  ///< dims under construction, updated when atoms are split

  int32_t add_atom(ir::Dim extent);
  /// Makes `outer` the rows and `inner` the only space; `lane` as above.
  void split_into(Atoms outer, Atoms inner, int32_t lane = -1);
  /// Replaces the atom by two, in row-major order, wherever it is used.
  std::pair<int32_t, int32_t> split_atom(int32_t atom, const ir::Dim& slow, const ir::Dim& fast);
  Atoms all_atoms() const;  ///< those in use, ascending
  ir::Dim product(const Atoms& atoms) const;

  /// Maps the dims of a value through a view, given the sizes of the view's input and result; may split
  /// atoms. Returns nothing unless the view only regroups, permutes or expands dims.
  std::optional<Dims> through(const ir::Node& view, const Dims& in, const std::vector<ir::Dim>& in_sizes,
                              const std::vector<ir::Dim>& out_sizes);
  std::optional<Dims> regroup(Dims in, const std::vector<ir::Dim>& in_sizes,
                              const std::vector<ir::Dim>& out_sizes);

 private:
  struct Piece {
    int32_t atom;  ///< -1 for a free dim
    ir::Dim extent;
  };
  /// Splits a piece that is larger than what a dim still needs. Returns false when neither extent divides the
  /// other.
  bool cut(std::vector<Piece>& pieces, size_t at, const ir::Dim& need, Dims& taken);
  void replace(int32_t atom, const Atoms& by);
  std::vector<bool> dead_;
};

bool is_subset(const Atoms& a, const Atoms& b);
bool same_set(const Atoms& a, const Atoms& b);
Atoms united(Atoms a, const Atoms& b);
Atoms without(const Atoms& a, const Atoms& b);

}  // namespace antegrad::schedule
