#include "ir/layout.h"

#include <algorithm>

namespace antegrad::ir {

bool is_dense(const TensorType& type) {
  std::vector<size_t> dims;  // dims not matched yet
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].is(0)) return true;
    if (!type.sizes[d].is(1)) dims.push_back(d);
  }
  Dim expected = 1;
  while (!dims.empty()) {
    const auto next = std::ranges::find(dims, expected, [&](size_t d) { return type.strides[d]; });
    if (next == dims.end()) return false;
    expected = expected * type.sizes[*next];
    dims.erase(next);
  }
  return true;
}

}  // namespace antegrad::ir
