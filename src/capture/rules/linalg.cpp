#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

void check_square(const Tensor& x) {
  TORCH_CHECK(x.dim() >= 2 && x.size(-1) == x.size(-2), "A must be batches of square matrices, but they are ",
              x.sizes());
}

Sizes batch_of(const Tensor& x, int64_t matrix_dims = 2) {
  return x.sizes().slice(0, x.dim() - matrix_dims).vec();
}

Sizes joined(Sizes batch, std::initializer_list<int64_t> matrix) {
  batch.insert(batch.end(), matrix);
  return batch;
}

void add_factorizations(RuleTable& table) {
  table.add({"cholesky", "cholesky_inverse"}, [](const Tensor& x) {
    check_square(x);
    return column_major(x.sizes(), x.scalar_type());
  });
  table.add_out("cholesky.out", [](const Tensor& x) {
    check_square(x);
    return contiguous_like(x);
  });
  table.add("_cholesky_solve_helper",
            [](const Tensor& b) { return column_major(b.sizes(), b.scalar_type()); });
  table.add("geqrf", [](const Tensor& x) {
    TORCH_CHECK(x.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
    Sizes taus = joined(batch_of(x), {std::min(x.size(-2), x.size(-1))});
    return std::tuple(column_major(x.sizes(), x.scalar_type()), empty(taus, x.scalar_type()));
  });
  table.add("ormqr",
            [](Skip, Skip, const Tensor& other) { return column_major(other.sizes(), other.scalar_type()); });
  table.add("linalg_householder_product",
            [](const Tensor& x) { return column_major(x.sizes(), x.scalar_type()); });
}

void add_eigen(RuleTable& table) {
  table.add({"_linalg_eigvals"}, [](const Tensor& x) {
    check_square(x);
    return empty(batch_of(x, 1), at::toComplexType(x.scalar_type()));
  });
  table.add_out("linalg_eigvals.out", [](const Tensor& x) {
    check_square(x);
    return empty(batch_of(x, 1), at::toComplexType(x.scalar_type()));
  });
  table.add("linalg_eig", [](const Tensor& x) {
    check_square(x);
    auto dtype = at::toComplexType(x.scalar_type());
    return std::tuple(empty(batch_of(x, 1), dtype), column_major(x.sizes(), dtype));
  });
}

void add_solvers(RuleTable& table) {
  table.add("linalg_solve_triangular", [](const Tensor& a, const Tensor& b, Skip, bool left) {
    check_square(a);
    TORCH_CHECK(b.dim() >= 2 && b.size(left ? -2 : -1) == a.size(-1),
                "linalg.solve_triangular: Incompatible shapes of A and B: ", a.sizes(), " and ", b.sizes());
    Sizes batch = at::infer_size(batch_of(a), batch_of(b));
    return column_major(joined(batch, {b.size(-2), b.size(-1)}), b.scalar_type());
  });
  table.add("linalg_matrix_exp", [](const Tensor& x) {
    check_square(x);
    return contiguous_like(x);
  });
  table.add("_compute_linear_combination", [](const Tensor& x, const Tensor& coefficients) {
    Sizes sizes = x.sizes().vec();
    sizes[0] = coefficients.size(0);
    return empty(sizes, x.scalar_type());
  });
}

void add_products(RuleTable& table) {
  table.add("addbmm", [](const Tensor& x, const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1),
                "addbmm: incompatible sizes ", a.sizes(), " and ", b.sizes());
    return empty({a.size(1), b.size(2)}, x.scalar_type());
  });
  table.add("_int_mm", [](const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "_int_mm: incompatible sizes ",
                a.sizes(), " and ", b.sizes());
    return empty({a.size(0), b.size(1)}, at::ScalarType::Int);
  });
  table.add("_scaled_mm", [](const Tensor& a, const Tensor& b, Skip, Skip, Skip, Skip,
                             std::optional<at::ScalarType> dtype) {
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "_scaled_mm: incompatible sizes ",
                a.sizes(), " and ", b.sizes());
    return empty({a.size(0), b.size(1)}, dtype.value_or(a.scalar_type()));
  });
  table.add("_weight_int8pack_mm", [](const Tensor& a, const Tensor& b) {
    return empty({a.size(0), b.size(0)}, a.scalar_type());
  });
}

}  // namespace

void add_linalg_rules(RuleTable& table) {
  add_factorizations(table);
  add_eigen(table);
  add_solvers(table);
  add_products(table);
}

void add_distance_rules(RuleTable& table) {
  table.add("_cdist_forward", [](const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.dim() >= 2 && b.dim() >= 2 && a.size(-1) == b.size(-1),
                "X1 and X2 must have the same number of columns. X1: ", a.sizes(), " X2: ", b.sizes());
    Sizes batch = at::infer_size(batch_of(a), batch_of(b));
    return empty(joined(batch, {a.size(-2), b.size(-2)}), a.scalar_type());
  });
  table.add("_cdist_backward", [](Skip, const Tensor& a, const Tensor& b) {
    Sizes batch = at::infer_size(batch_of(a), batch_of(b));
    return empty(joined(batch, {a.size(-2), a.size(-1)}), a.scalar_type());
  });
  table.add("_pdist_forward", [](const Tensor& x) {
    int64_t n = x.size(0);
    return empty({n <= 1 ? 0 : n * (n - 1) / 2}, x.scalar_type());
  });
  table.add("_pdist_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
}

}  // namespace antegrad::capture::rules
