#pragma once
#include <cstdint>
#include <vector>

#include "aot/signature/signature.h"

namespace antegrad::runtime {

/// Where an output of the user comes from, if nothing else refers to that: an output of the graph, of which
/// some steps make views, one of the other.
struct OutputOrigin {
  static constexpr int32_t kUndefined = -1, kOther = -2;
  int32_t result = kOther;    ///< which output of the graph, or one of these two
  std::vector<size_t> views;  ///< the steps of the signature
};
/// Returns one per output of the user.
std::vector<OutputOrigin> output_origins(const aot::Signature& signature);

}  // namespace antegrad::runtime
