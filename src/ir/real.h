#pragma once
#include <string_view>

#include "ir/dim.h"

namespace antegrad::ir {

/// A floating-point number that is not the same in all calls: computed from a size (the factor of a mean, the
/// scale of an attention), or a symbol of its own.
struct Real {
  enum class Form : uint8_t {
    Times,      ///< scale * dim
    Over,       ///< scale / dim
    TimesSqrt,  ///< scale * sqrt(dim)
    OverSqrt,   ///< scale / sqrt(dim)
    Number,     ///< scale * the double whose bits are `dim`, a symbol
  } form = Form::Times;
  double scale = 1;
  Dim dim;

  double evaluate(const Dim::Assignment& value_of) const;
};
std::string_view name(Real::Form form);  ///< as in graph text: "times", "over", …

}  // namespace antegrad::ir
