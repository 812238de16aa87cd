#pragma once
#include <cstdint>
#include <vector>

#include "capture/capture.h"
#include "ir/types.h"

namespace antegrad::aot {

/// First and one-past-last element in its storage; empty tensors have first == last.
struct Extent {
  int64_t first = 0;
  int64_t last = 0;
};
Extent extent_of(const ir::TensorType& type);

/// Whether two elements of one tensor may be the same memory (stride 0, overlapping windows).
bool overlaps_itself(const ir::TensorType& type);

/// Whether two tensors on one storage share an element. Exact for up to a million elements; beyond, yes when
/// in doubt.
bool overlap(const ir::TensorType& a, const ir::TensorType& b);

/// Whether every element of `part` is an element of `whole`. Exact for up to a million elements; beyond, no
/// when in doubt.
bool covers(const ir::TensorType& whole, const ir::TensorType& part);

/// Inputs that must be seen as views of one flat base: they overlap, and one of them is written. Or a single
/// written input of which some view reaches memory outside it.
struct AliasGroup {
  std::vector<int32_t> members;  ///< graph inputs, ascending
  Extent extent;
  ir::DType dtype = ir::DType::F32;
  bool escapes = false;  ///< the function reaches memory that is in none of the members
};

/// Per graph input: whether the function makes it larger.
std::vector<bool> find_growing(const capture::Trace& trace);

/// `written[i]`: whether the function writes to the memory of graph input i.
std::vector<AliasGroup> find_alias_groups(const capture::Trace& trace, const std::vector<bool>& written);

}  // namespace antegrad::aot
