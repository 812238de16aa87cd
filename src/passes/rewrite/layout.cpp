#include "passes/rewrite/layout.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "antegrad/error.h"

namespace antegrad::passes {
namespace {

using ir::Dim;

/// The operand's stride along a dimension of the result; 0 where it is broadcast.
Dim stride_along(const ir::TensorType& operand, const std::vector<Dim>& sizes, size_t dim) {
  const size_t missing = sizes.size() - operand.sizes.size();
  if (dim < missing) return 0;
  const bool repeated = operand.sizes[dim - missing].is(1) && !sizes[dim].is(1);
  return repeated ? Dim(0) : operand.strides[dim - missing];
}

/// Whether `slow` is `fast` times sizes of the operand, as an expression. Wherever the order matters, neither
/// is 0.
bool is_reached(const ir::TensorType& operand, const Dim& slow, Dim fast) {
  for (size_t step = 0; step < operand.sizes.size(); ++step) {
    size_t dim = 0;
    while (dim < operand.sizes.size() && (!(operand.strides[dim] == fast) || operand.sizes[dim].is(1))) ++dim;
    if (dim == operand.sizes.size()) return false;
    fast = fast * operand.sizes[dim];
    if (fast == slow) return true;
  }
  return false;
}

/// Orders dimensions from the fastest to the slowest, following the first operand that distinguishes them.
class Order {
 public:
  Order(const ir::Graph& graph, const std::vector<Dim>& sizes,
        const std::vector<const ir::TensorType*>& operands)
      : graph_(graph), sizes_(sizes), operands_(operands) {}

  std::optional<std::vector<size_t>> sorted() {
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
    return hidden_ ? std::nullopt : std::optional(std::move(order));
  }

 private:
  /// Positive if dimension `a` is slower than `b`; 0 if the operands do not decide.
  int compare(size_t a, size_t b) {
    for (const auto* operand : operands_) {
      const auto left = stride_along(*operand, sizes_, a), right = stride_along(*operand, sizes_, b);
      if (left.is(0) || right.is(0)) continue;
      if (const int order = order_of(left, right, *operand); order != 0) return order;
      if (order_of(sizes_[a], sizes_[b], *operand) > 0) return 1;
    }
    return 0;
  }

  /// Negative if a < b. Different expressions count as ordered even if they may be equal: in that case a size
  /// between them is 1, and the order of such dimensions does not matter.
  int order_of(const Dim& a, const Dim& b, const ir::TensorType& operand) {
    if (a == b) return 0;
    if (bounds(graph_, b - a).lower >= 0 || is_reached(operand, b, a)) return -1;
    if (bounds(graph_, a - b).lower >= 0 || is_reached(operand, a, b)) return 1;
    hidden_ = true;
    return 0;
  }

  const ir::Graph& graph_;
  const std::vector<Dim>& sizes_;
  const std::vector<const ir::TensorType*>& operands_;
  bool hidden_ = false;  ///< the order depends on the values of symbols
};

using RangeOf = std::function<ir::Range(int32_t symbol)>;

/// Bounds with symbols counted from their least values: s0*s1 - s0 becomes a sum of non-negative products.
ir::Range bounds_from_least(const Dim& dim, const RangeOf& range_of) {
  const auto least = [&](int32_t symbol) { return std::max<int64_t>(range_of(symbol).lower, 0); };
  const auto shifted =
      dim.substitute([&](int32_t symbol) { return Dim::symbol(symbol) + Dim(least(symbol)); });
  return shifted.bounds([&](int32_t symbol) {
    const auto range = range_of(symbol);
    const bool is_open = range.upper == std::numeric_limits<int64_t>::max();
    return ir::Range{std::min<int64_t>(range.lower, 0), is_open ? range.upper : range.upper - least(symbol)};
  });
}

}  // namespace

ir::Range bounds(const ir::Graph& graph, const Dim& dim) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  const RangeOf range_of = [&](int32_t symbol) { return graph.symbols[symbol].range; };
  const auto plain = dim.bounds(range_of);
  try {
    const auto other = bounds_from_least(dim, range_of);
    return {std::max(plain.lower, other.lower), std::min(plain.upper, other.upper)};
  } catch (const Error&) {  // the expression exceeds the size limit
    return plain;
  }
}

bool broadcast(const std::vector<Dim>& sizes, std::vector<Dim>& onto) {
  if (sizes.size() > onto.size()) onto.insert(onto.begin(), sizes.size() - onto.size(), Dim(1));
  const size_t missing = onto.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto& size = onto[missing + i];
    if (size.is(1)) size = sizes[i];
    if (!(size == sizes[i]) && !sizes[i].is(1)) return false;
  }
  return true;
}

std::optional<std::vector<Dim>> pointwise_strides(const ir::Graph& graph, const std::vector<Dim>& sizes,
                                                  const std::vector<const ir::TensorType*>& operands) {
  const bool row_major = std::ranges::all_of(operands, [&](const ir::TensorType* operand) {
    return operand->sizes == sizes && operand->is_contiguous();
  });
  if (row_major) return ir::contiguous_strides(sizes);
  const auto order = Order(graph, sizes, operands).sorted();
  if (!order) return std::nullopt;
  std::vector<Dim> ordered, strides(sizes.size());
  for (size_t i = order->size(); i-- > 0;) ordered.push_back(sizes[(*order)[i]]);
  const auto steps = ir::contiguous_strides(ordered);
  for (size_t i = 0; i < order->size(); ++i) strides[(*order)[i]] = steps[order->size() - 1 - i];
  return strides;
}

}  // namespace antegrad::passes
