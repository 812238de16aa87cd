#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "antegrad/optim.h"
#include "optim/shares.h"

namespace antegrad::optim {

/// Gradients that are communicated together: positions in the list of parameters.
struct Bucket {
  std::vector<int64_t> parameters;
  int64_t elements = 0;
  std::optional<int64_t> owner;  ///< the only process that needs them
};
using Buckets = std::vector<Bucket>;

/// What a bucket has of one of its parameters, from this element on, in the parameter's layout.
at::Tensor part_of(const at::Tensor& bucket, int64_t first, const at::Tensor& parameter);

/// Returns the buckets for those parameters that have a gradient, the same in all processes: process 0
/// decides. `order`: the positions in the order in which their gradients become final here. `shares`: may be
/// null. Throws Error(GraphChanged) when processes have other gradients or options.
Buckets agree_on_buckets(const StepOptions& options, const std::vector<at::Tensor>& parameters,
                         std::vector<int64_t> order, const Shares* shares);

/// Overwrites tensors with those of process 0.
void take_from_first(const std::vector<at::Tensor>& tensors, const AllReduce& processes);

}  // namespace antegrad::optim
