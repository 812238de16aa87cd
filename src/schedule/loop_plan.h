#pragma once
#include <vector>

#include "schedule/fusion.h"

namespace antegrad::schedule {

/// An element of memory as a function of a group's atoms.
struct AtomAddress {
  ir::Dim offset;
  std::vector<std::pair<int32_t, ir::Dim>> terms;  ///< atom, coefficient
  ir::Dim coefficient(int32_t atom) const;
};

/// The address of a tensor with these strides at iteration dims `placement`, from dim `first` on. Dims of
/// size one that are broadcast do not count.
AtomAddress address_of(const Group& group, const std::vector<ir::Dim>& sizes,
                       const std::vector<ir::Dim>& strides, const ir::Dim& offset,
                       const std::vector<Atoms>& placement, size_t first);

/// The loops of a kernel: which atoms they are made of, in which order they run.
struct LoopPlan {
  std::vector<ir::Dim> extents;              ///< per loop
  std::vector<int32_t> loop_of;              ///< per atom: the loop it is the fastest part of, -1: not
  std::vector<int32_t> outer;                ///< loops
  std::vector<std::vector<int32_t>> spaces;  ///< loops
  std::vector<Atoms> space_atoms;
  Atoms outer_atoms;
  int32_t lane = -1;  ///< loop
  Affine affine(const AtomAddress& address) const;
};

/// `stored`: per value, whether it is in memory.
LoopPlan plan_loops(const Fusion& fusion, const Group& group, const ir::PerValue<bool>& stored);

}  // namespace antegrad::schedule
