#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "compiler/regions/region.h"

namespace antegrad::compiler {

using Tensors = std::vector<at::Tensor>;
using RegionBody = std::function<Tensors(const Tensors&)>;

/// Runs a region (not a derivative of it) by calling its bodies, through autograd. Bodies get the carried
/// operands, slices, then the others; those of cond get all operands but the condition.
Tensors run_region(const Region& region, const std::vector<RegionBody>& bodies, const Tensors& operands);

/// The same for the derivative that the region says: nested backward passes. Results are undefined where
/// there is no gradient.
Tensors run_derivatives(const Region& region, const std::vector<RegionBody>& bodies, Tensors operands);

/// Returns the gradients of the `inputs` from these results, of which some may have no history; undefined
/// where autograd finds no path.
Tensors gradients_of(const Tensors& results, const Tensors& inputs, const Tensors& tangents,
                     bool create_graph);

/// Whether a tensor may have a gradient.
bool is_differentiable(const at::Tensor& tensor);

}  // namespace antegrad::compiler
