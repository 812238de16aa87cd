#include "passes/decompositions/small_matmul.h"

#include <algorithm>

#include "passes/rewrite/replace.h"

namespace antegrad::passes {
namespace {

/// The number of multiplications. Symbols count as at least 64: a size that is small in one call need not be
/// in the next.
int64_t multiplications(Builder& b, Value products) {
  constexpr int64_t kOften = 64;
  return b.count(products, b.all_dims(products)).evaluate([&](int32_t s) {
    const auto& symbol = b.symbols()[s];
    return std::min(std::max(symbol.hint, kOften), symbol.range.upper);
  });
}

void require_known(Builder& b, Value x) {
  const auto dtype = b.type(x).dtype;
  if (dtype != ir::DType::F32 && dtype != ir::DType::F64) throw NotHandled();
}

/// Whether a product of matrices does so little with each number that it takes as long as reading them. On a
/// CUDA device it then costs nothing in a kernel that computes one of the matrices, or reads it anyway.
bool is_thin(Builder& b, Value left, Value right) {
  if (b.type(left).device.kind != ir::Device::Kind::Cuda || b.rank(left) != 2 || b.rank(right) != 2)
    return false;
  return b.sizes(left)[0].is(1) || b.sizes(left)[1].is(1) || b.sizes(right)[1].is(1);
}

void require_small(Builder& b, Value products, bool thin = false) {
  require_known(b, products);
  if (!thin && multiplications(b, products) > kSmallMatmul) throw NotHandled();
}

/// […, M, K] times […, K, N]. If possible, the last dimension of the products is one along which the right
/// matrix is contiguous.
Value matrix_product(Builder& b, Value left, Value right) {
  const auto rank = static_cast<int64_t>(b.rank(left));
  const bool thin = is_thin(b, left, right);
  if (thin && b.sizes(left)[1].is(1)) {
    require_known(b, left);
    return b.mul(left, right);
  }
  const bool has_rows = b.type(right).strides.back() == ir::Dim(1);
  if (has_rows) {  // […, M, K, N]
    const auto products = b.mul(b.unsqueeze(left, rank), b.unsqueeze(right, rank - 2));
    require_small(b, products, thin);
    return b.sum(products, {rank - 1});
  }
  Dims transposed = b.all_dims(right);
  std::swap(transposed[transposed.size() - 1], transposed[transposed.size() - 2]);
  const auto columns = b.permute(right, transposed);
  const auto products = b.mul(b.unsqueeze(left, rank - 1), b.unsqueeze(columns, rank - 2));  // […, M, N, K]
  require_small(b, products, thin);
  return b.sum(products, {rank});
}

/// […, K] times [K].
Value vector_product(Builder& b, Value left, Value right) {
  const auto products = b.mul(left, right);
  require_small(b, products);
  return b.sum(products, {static_cast<int64_t>(b.rank(left)) - 1});
}

using Product = Value (*)(Builder& b, Value left, Value right);

void refuse_mixed(const Call& call, std::initializer_list<size_t> operands) {
  for (auto i : operands)
    if (call.type(call.tensor(i)).dtype != call.output_type(0).dtype) throw NotHandled();
}

template <Product kProduct>
void product(Builder& b, const Call& call) {
  refuse_mixed(call, {0, 1});
  b.define(call.output(0), kProduct(b, call.tensor(0), call.tensor(1)));
}

/// beta * self + alpha * product. With beta = 0, self is ignored, including NaN.
template <Product kProduct>
void add_product(Builder& b, const Call& call) {
  refuse_mixed(call, {0, 1, 2});
  const double beta = call.keyword_number("beta", 1), alpha = call.keyword_number("alpha", 1);
  auto result = kProduct(b, call.tensor(1), call.tensor(2));
  if (alpha != 1) result = b.mul(result, alpha);
  if (beta != 0) result = b.add(result, beta == 1 ? call.tensor(0) : b.mul(call.tensor(0), beta));
  b.define(call.output(0), result);
}

constexpr DecompositionRow kSmallMatmulRows[] = {
    {"aten.mm", product<matrix_product>},        {"aten.bmm", product<matrix_product>},
    {"aten.addmm", add_product<matrix_product>}, {"aten.baddbmm", add_product<matrix_product>},
    {"aten.mv", product<vector_product>},        {"aten.addmv", add_product<vector_product>},
    {"aten.dot", product<vector_product>},
};

Decomposition rule_of(std::string_view op) {
  const auto* row = std::ranges::find(kSmallMatmulRows, op, &DecompositionRow::op);
  return row != std::end(kSmallMatmulRows) ? row->build : nullptr;
}

}  // namespace

bool small_matmul(ir::Graph& graph) { return replace_nodes(graph, rule_of); }

}  // namespace antegrad::passes
