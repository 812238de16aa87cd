#include <ATen/ATen.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

using OptionalType = std::optional<at::ScalarType>;

Tensor real_of(const Tensor& x, const std::optional<Sizes>& dims, bool keepdim) {
  TORCH_CHECK(at::isFloatingType(x.scalar_type()) || at::isComplexType(x.scalar_type()),
              "std and var only support floating point and complex dtypes");
  return empty(reduced(x, dims, keepdim), at::toRealValueType(x.scalar_type()));
}

/// Returns the types of values of x and of their indices along `dim`.
std::tuple<Tensor, Tensor> values_and_indices(const Tensor& x, int64_t dim, bool keepdim) {
  Sizes sizes = reduced(x, dim, keepdim);
  return {empty(sizes, x.scalar_type()), empty(sizes, kLong)};
}

void add_sums(RuleTable& table) {
  table.add("prod", [](const Tensor& x, OptionalType dtype) { return empty({}, sum_type(x, dtype)); });
  table.add("nansum", [](const Tensor& x, std::optional<Sizes> dims, bool keepdim, OptionalType dtype) {
    return empty(reduced(x, dims, keepdim), sum_type(x, dtype));
  });
  table.add("trace", [](const Tensor& x) {
    TORCH_CHECK(x.dim() == 2, "trace: expected a matrix, but got tensor with dim ", x.dim());
    return empty({}, sum_type(x));
  });
  table.add({"dot", "vdot"}, [](const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ", b.dim(),
                "D tensors");
    TORCH_CHECK(a.numel() == b.numel(), "inconsistent tensor size, expected tensor [", a.numel(),
                "] and src [", b.numel(), "] to have the same number of elements, but got ", a.numel(),
                " and ", b.numel(), " elements respectively");
    TORCH_CHECK(a.scalar_type() == b.scalar_type(),
                "dot : expected both vectors to have same dtype, but found ", a.scalar_type(), " and ",
                b.scalar_type());
    return empty({}, a.scalar_type());
  });
  table.add("count_nonzero.dim_IntList",
            [](const Tensor& x, Sizes dims) { return empty(reduced(x, dims, false), kLong); });
  table.add("count_nonzero", [](const Tensor& x, std::optional<int64_t> dim) {
    return empty(dim ? reduced(x, *dim, false) : Sizes(), kLong);
  });
}

void add_moments(RuleTable& table) {
  table.add({"var.correction", "std.correction"}, [](const Tensor& x, std::optional<Sizes> dims, Skip,
                                                     bool keepdim) { return real_of(x, dims, keepdim); });
  table.add({"var_mean.correction", "std_mean.correction"},
            [](const Tensor& x, std::optional<Sizes> dims, Skip, bool keepdim) {
              Tensor spread = real_of(x, dims, keepdim);
              return std::tuple(spread, empty(spread.sizes(), x.scalar_type()));
            });
}

void add_order_statistics(RuleTable& table) {
  table.add({"max", "min", "median", "nanmedian"},
            [](const Tensor& x) { return empty({}, x.scalar_type()); });
  table.add_out("max.unary_out", [](const Tensor& x) { return empty({}, x.scalar_type()); });
  table.add_out("min.unary_out", [](const Tensor& x) { return empty({}, x.scalar_type()); });
  table.add("_aminmax", [](const Tensor& x) {
    return std::tuple(empty({}, x.scalar_type()), empty({}, x.scalar_type()));
  });
  table.add("_aminmax.dim", [](const Tensor& x, int64_t dim, bool keepdim) {
    Sizes sizes = reduced(x, dim, keepdim);
    return std::tuple(empty(sizes, x.scalar_type()), empty(sizes, x.scalar_type()));
  });
  table.add({"median.dim", "nanmedian.dim", "mode"},
            [](const Tensor& x, int64_t dim, bool keepdim) { return values_and_indices(x, dim, keepdim); });
  table.add("kthvalue", [](const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
    int64_t length = x.dim() > 0 ? x.size(wrap(dim, x)) : 1;
    TORCH_CHECK(k >= 1 && k <= length, "kthvalue(): selected number k out of range for dimension ", dim);
    return values_and_indices(x, dim, keepdim);
  });
}

void add_scans(RuleTable& table) {
  table.add({"_logcumsumexp", "logcumsumexp"}, [](const Tensor& x, int64_t dim) {
    wrap(dim, x);
    return contiguous_like(x);
  });
  table.add({"cummax", "cummin"}, [](const Tensor& x, int64_t dim) {
    wrap(dim, x);
    return std::tuple(contiguous_like(x), contiguous_like(x, kLong));
  });
  table.add({"_cummax_helper", "_cummin_helper"}, [](Skip) {});
}

void add_histograms(RuleTable& table) {
  table.add("histc", [](const Tensor& x, int64_t bins) {
    TORCH_CHECK(bins > 0, "bins must be > 0");
    return empty({bins}, x.scalar_type());
  });
  table.add("histogram.bin_ct", [](const Tensor& x, int64_t bins) {
    return std::tuple(empty({bins}, x.scalar_type()), empty({bins + 1}, x.scalar_type()));
  });
  table.add("histogram.bins_tensor", [](const Tensor& x, const Tensor& bins) {
    return std::tuple(empty({bins.numel() - 1}, x.scalar_type()), contiguous_like(bins));
  });
  table.add("_histogramdd_from_bin_cts",
            [](const Tensor& x, Sizes bins) { return empty(bins, x.scalar_type()); });
  table.add("_histogramdd_from_bin_tensors", [](const Tensor& x, std::vector<Tensor> bins) {
    Sizes sizes;
    for (const auto& edges : bins) sizes.push_back(edges.numel() - 1);
    return empty(sizes, x.scalar_type());
  });
  table.add("_histogramdd_bin_edges", [](const Tensor& x, Sizes bins) {
    std::vector<Tensor> edges;
    for (int64_t count : bins) edges.push_back(empty({count + 1}, x.scalar_type()));
    return edges;
  });
}

}  // namespace

void add_reduction_rules(RuleTable& table) {
  add_sums(table);
  add_moments(table);
  add_order_statistics(table);
  add_scans(table);
  add_histograms(table);
}

}  // namespace antegrad::capture::rules
