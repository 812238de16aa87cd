#pragma once
#include <string_view>

#include "ir/dim.h"

namespace antegrad::ir {

/// A floating-point number computed from a size: the factor of a mean, the scale of an attention.
struct Real {
  enum class Form : uint8_t {
    Times,      ///< scale * dim
    Over,       ///< scale / dim
    TimesSqrt,  ///< scale * sqrt(dim)
    OverSqrt,   ///< scale / sqrt(dim)
  } form = Form::Times;
  double scale = 1;
  Dim dim;

  double evaluate(const Dim::Assignment& value_of) const;
};
std::string_view name(Real::Form form);  ///< as in graph text: "times", "over", "times_sqrt", "over_sqrt"

}  // namespace antegrad::ir
