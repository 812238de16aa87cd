#pragma once
#include <vector>

#include "schedule/fusion.h"

namespace antegrad::schedule {

/// A memory address as an affine function of a group's atoms.
struct AtomAddress {
  ir::Dim offset;
  std::vector<std::pair<int32_t, ir::Dim>> terms;  ///< atom, coefficient
  ir::Dim coefficient(int32_t atom) const;
};

/// Returns the address of an element of a tensor whose dims are the iteration dims `placement` from `first`
/// on. Dims of size one contribute nothing.
AtomAddress address_of(const Group& group, const std::vector<ir::Dim>& sizes,
                       const std::vector<ir::Dim>& strides, const ir::Dim& offset,
                       const std::vector<Atoms>& placement, size_t first);

/// The loops of a kernel: the atoms they consist of and the order in which they run.
struct LoopPlan {
  std::vector<ir::Dim> extents;              ///< per loop
  std::vector<int32_t> loop_of;              ///< per atom: the loop whose fastest part it is; -1 if none
  std::vector<int32_t> outer;                ///< loops
  std::vector<std::vector<int32_t>> spaces;  ///< loops
  std::vector<Atoms> space_atoms;
  Atoms outer_atoms;
  int32_t lane = -1;  ///< loop
  Affine affine(const AtomAddress& address) const;
};

/// Chooses the loops of a group. `stored` says for each value whether it is written to memory.
LoopPlan plan_loops(const Fusion& fusion, const Group& group, const ir::PerValue<bool>& stored);

}  // namespace antegrad::schedule
