#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace antegrad::passes {

/// How gradients are added up over the processes of a group.
struct GradientReduction {
  std::string group;
  int64_t group_size = 1;
  int64_t bucket_bytes =
      0;  ///< a bucket is closed before it exceeds this; a larger gradient has one of its own
  bool average = false;
};

/// Replaces gradients of a backward graph by their sums over the processes. `reduced`: per output, whether it
/// is one. Gradients are put into buckets in the order in which they become final, each bucket is
/// communicated as soon as it is full, and the graph ends with waiting for all of them; the new gradients are
/// views of the buckets.
void reduce_gradients(ir::Graph& backward, const std::vector<bool>& reduced, const GradientReduction& how);

}  // namespace antegrad::passes
