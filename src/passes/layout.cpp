#include "passes/layout.h"

#include <algorithm>
#include <numeric>

namespace antegrad::passes {
namespace {

using ir::Dim;

bool is_constant(const std::vector<Dim>& dims) { return std::ranges::all_of(dims, &Dim::is_constant); }

/// The operand's stride along a dimension of the result; 0 where it is broadcast.
int64_t stride_along(const ir::TensorType& operand, const std::vector<Dim>& sizes, size_t dim) {
  const size_t missing = sizes.size() - operand.sizes.size();
  if (dim < missing) return 0;
  const bool repeated = operand.sizes[dim - missing] == Dim(1) && !(sizes[dim] == Dim(1));
  return repeated ? 0 : operand.strides[dim - missing].constant();
}

/// Orders dimensions from the fastest on; what the first operand that tells them apart says holds.
class Order {
 public:
  Order(const std::vector<Dim>& sizes, const std::vector<const ir::TensorType*>& operands)
      : sizes_(sizes), operands_(operands) {}

  std::vector<size_t> sorted() const {
    std::vector<size_t> order(sizes_.size());
    std::iota(order.rbegin(), order.rend(), 0);
    for (size_t i = 1; i < order.size(); ++i) {
      size_t moving = i;
      for (size_t below = i; below-- > 0;) {
        const int compared = compare(order[below], order[moving]);
        if (compared < 0) break;
        if (compared == 0) continue;
        std::swap(order[below], order[moving]);
        moving = below;
      }
    }
    return order;
  }

 private:
  /// Above 0: dimension `a` is slower than `b`; 0: the operands do not say.
  int compare(size_t a, size_t b) const {
    for (const auto* operand : operands_) {
      const auto left = stride_along(*operand, sizes_, a), right = stride_along(*operand, sizes_, b);
      if (left == 0 || right == 0) continue;
      if (left != right) return left < right ? -1 : 1;
      if (sizes_[a].constant() > sizes_[b].constant()) return 1;
    }
    return 0;
  }

  const std::vector<Dim>& sizes_;
  const std::vector<const ir::TensorType*>& operands_;
};

}  // namespace

bool broadcast(const std::vector<Dim>& sizes, std::vector<Dim>& onto) {
  if (sizes.size() > onto.size()) onto.insert(onto.begin(), sizes.size() - onto.size(), Dim(1));
  const size_t missing = onto.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto& size = onto[missing + i];
    if (size == Dim(1)) size = sizes[i];
    if (!(size == sizes[i]) && !(sizes[i] == Dim(1))) return false;
  }
  return true;
}

std::vector<Dim> pointwise_strides(const std::vector<Dim>& sizes,
                                   const std::vector<const ir::TensorType*>& operands) {
  const bool row_major = std::ranges::all_of(operands, [&](const ir::TensorType* operand) {
    return operand->sizes == sizes && operand->is_contiguous();
  });
  const bool known = is_constant(sizes) && std::ranges::all_of(operands, [](const ir::TensorType* operand) {
                       return is_constant(operand->sizes) && is_constant(operand->strides);
                     });
  if (row_major || !known) return ir::contiguous_strides(sizes);
  std::vector<Dim> strides(sizes.size());
  Dim step = 1;
  for (size_t dim : Order(sizes, operands).sorted()) {
    strides[dim] = step;
    step = step * max(sizes[dim], Dim(1));
  }
  return strides;
}

}  // namespace antegrad::passes
