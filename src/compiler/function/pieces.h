#pragma once
#include <vector>

#include "capture/tape.h"

namespace antegrad::compiler {

/// A part of a stretch that is compiled by itself.
struct Piece {
  capture::Stretch stretch;    ///< without tensors as inputs
  size_t outputs_of_call = 0;  ///< its first outputs are the stretch's; the others are for later pieces
};

/// Cuts a stretch into pieces, to be run one after the other. Each is one
/// node of autograd's graph. Where the function still holds a tensor from which others that
/// it holds were computed, autograd must find the way from these to the tensor: the stretch is cut there.
std::vector<Piece> cut(const capture::Stretch& stretch);

}  // namespace antegrad::compiler
