#include "ir/layout.h"

#include <algorithm>
#include <utility>

namespace antegrad::ir {

bool is_dense(const TensorType& type) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (!type.sizes[d].is_constant() || !type.strides[d].is_constant()) return type.is_contiguous();
    if (type.sizes[d].constant() == 0) return true;
    if (type.sizes[d].constant() != 1)
      dims.emplace_back(type.strides[d].constant(), type.sizes[d].constant());
  }
  std::ranges::sort(dims);
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace antegrad::ir
