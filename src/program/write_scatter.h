#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "ir/graph.h"

namespace antegrad::program {

/// A part of a tensor in memory, as antegrad.strided_scatter describes it.
struct Region {
  std::vector<ir::Dim> sizes, strides;
  ir::Dim offset;  ///< from the first element of the tensor
};

/// An op of PyTorch that replaces a part of a tensor. (Not as_strided_scatter, whose gradient with respect to
/// the tensor is wrong in PyTorch 2.11.)
struct Scatter {
  enum class Kind {
    Whole,   ///< everything is replaced
    Slice,   ///< slice_scatter: `dim`, `start`, `end`, `step`
    Select,  ///< select_scatter: `dim`, `start`
    Index,   ///< index_put on the tensor as a row: `positions`, in the order of the region's elements
  };
  Kind kind = Kind::Whole;
  int64_t dim = 0, step = 1;
  ir::Dim start, end;
  at::Tensor positions;
};

/// Finds the op; nothing if there is none, as for parts of symbolic sizes in several dimensions.
std::optional<Scatter> find_scatter(const ir::TensorType& tensor, const Region& region);

}  // namespace antegrad::program
