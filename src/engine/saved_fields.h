#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <array>

namespace antegrad::engine {

/// What a node has saved.
struct SavedFields {
  std::array<at::Tensor, 2> tensors;  ///< undefined ones too, in the order in which LibTorch collects them
  size_t count = 0;
  uint64_t rest = 0;  ///< the other fields
};

/// Reads the fields of a node of a common pointwise op, for which LibTorch's way costs more than the rest of
/// looking up a pass. Returns false when LibTorch is to be asked, which also throws where there is reason to.
/// Results of the op come without their history.
bool read_fields(const torch::autograd::Node& node, SavedFields& fields);

}  // namespace antegrad::engine
