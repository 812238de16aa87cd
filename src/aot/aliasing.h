#pragma once
#include <cstdint>
#include <vector>

#include "capture/capture.h"
#include "ir/types.h"

namespace antegrad::aot {

/// The first and one-past-last element of a tensor in its storage; equal for an empty tensor.
struct Extent {
  int64_t first = 0;
  int64_t last = 0;
};
Extent extent_of(const ir::TensorType& type);

/// Returns whether two elements of the tensor may share memory (stride 0, overlapping windows).
bool overlaps_itself(const ir::TensorType& type);

/// Returns whether two tensors on one storage share an element. Exact for up to a million elements; beyond
/// that, true when in doubt.
bool overlap(const ir::TensorType& a, const ir::TensorType& b);

/// Returns whether every element of `part` is an element of `whole`. Exact for up to a million elements;
/// beyond that, false when in doubt.
bool covers(const ir::TensorType& whole, const ir::TensorType& part);

/// Inputs that have to be views of one flat base, because they overlap and one of them is written. Or a
/// single written input of which some view reaches memory outside it.
struct AliasGroup {
  std::vector<int32_t> members;  ///< graph inputs, ascending
  Extent extent;
  ir::DType dtype = ir::DType::F32;
  bool escapes = false;  ///< the function reaches memory that belongs to none of the members
};

/// Returns, per graph input, whether the function enlarges it.
std::vector<bool> find_growing(const capture::Trace& trace);

/// Finds the groups. `written[i]`: whether the function writes to the memory of graph input i.
std::vector<AliasGroup> find_alias_groups(const capture::Trace& trace, const std::vector<bool>& written);

}  // namespace antegrad::aot
