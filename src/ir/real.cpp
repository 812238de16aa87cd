#include "ir/real.h"

#include <bit>
#include <cmath>

#include "util/ids.h"

namespace antegrad::ir {

double Real::evaluate(const Dim::Assignment& value_of) const {
  const auto integer = dim.evaluate(value_of);
  const auto value = static_cast<double>(integer);
  switch (form) {
    case Form::Times:
      return scale * value;
    case Form::Over:
      return scale / value;
    case Form::TimesSqrt:
      return scale * std::sqrt(value);
    case Form::OverSqrt:
      return scale / std::sqrt(value);
    case Form::Number:
      return scale * std::bit_cast<double>(integer);
  }
  return 0;
}

std::string_view name(Real::Form form) {
  static constexpr std::string_view kNames[] = {"times", "over", "times_sqrt", "over_sqrt", "number"};
  return kNames[ordinal(form)];
}

}  // namespace antegrad::ir
