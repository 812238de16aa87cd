#include "ir/real.h"

#include <cmath>

#include "util/ids.h"

namespace antegrad::ir {

double Real::evaluate(const Dim::Assignment& value_of) const {
  const auto value = static_cast<double>(dim.evaluate(value_of));
  switch (form) {
    case Form::Times:
      return scale * value;
    case Form::Over:
      return scale / value;
    case Form::TimesSqrt:
      return scale * std::sqrt(value);
    case Form::OverSqrt:
      return scale / std::sqrt(value);
  }
  return 0;
}

std::string_view name(Real::Form form) {
  static constexpr std::string_view kNames[] = {"times", "over", "times_sqrt", "over_sqrt"};
  return kNames[ordinal(form)];
}

}  // namespace antegrad::ir
