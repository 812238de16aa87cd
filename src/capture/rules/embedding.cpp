#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

constexpr int64_t kSum = 0, kMean = 1, kMax = 2;

/// Returns whether rows are summed without the table that maps indices to bags.
bool sums_directly(const Tensor& weight, int64_t mode, const Tensor& scale, int64_t padding) {
  auto dtype = weight.scalar_type();
  bool fast_type = dtype == at::ScalarType::Float || at::isReducedFloatingType(dtype);
  return mode == kSum && fast_type && weight.stride(1) == 1 && padding < 0 &&
         (!scale.defined() || scale.stride(0) == 1);
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Four embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                   const Tensor& scale, bool include_last, int64_t padding, bool training) {
  TORCH_CHECK(indices.dim() == 1 && offsets.dim() == 1,
              "embedding_bag: indices and offsets have to be 1D, got sizes ", indices.sizes(), " and ",
              offsets.sizes());
  auto type = at::promote_types(indices.scalar_type(), offsets.scalar_type());
  int64_t bags = offsets.size(0) - (include_last ? 1 : 0);
  int64_t counted = training || mode != kSum ? bags : offsets.size(0);
  Tensor counts = empty({counted}, type);
  Tensor bag_of = empty({sums_directly(weight, mode, scale, padding) ? 0 : indices.size(0)}, type);
  Tensor largest = mode == kMax ? empty({bags, weight.size(1)}, type) : empty({counted}, type);
  return {empty({bags, weight.size(1)}, weight.scalar_type()), bag_of, counts, largest};
}

}  // namespace

void add_embedding_rules(RuleTable& table) {
  table.add("embedding_dense_backward", [](const Tensor& grad, Skip, int64_t rows) {
    return empty({rows, grad.size(-1)}, grad.scalar_type());
  });
  table.add("_embedding_bag",
            [](const Tensor& weight, const Tensor& indices, const Tensor& offsets, Skip, int64_t mode, Skip,
               const Tensor& scale, bool include_last, int64_t padding) {
              return embedding_bag(weight, indices, offsets, mode, scale, include_last, padding, true);
            });
  table.add("_embedding_bag_forward_only",
            [](const Tensor& weight, const Tensor& indices, const Tensor& offsets, Skip, int64_t mode, Skip,
               const Tensor& scale, bool include_last, int64_t padding) {
              return embedding_bag(weight, indices, offsets, mode, scale, include_last, padding, false);
            });
  table.add("_embedding_bag_backward",
            [](const Tensor& grad, Skip, Skip, Skip, Skip, Skip, int64_t rows, Skip, Skip, bool sparse) {
              TORCH_CHECK(!sparse, "sparse gradients of embedding_bag have no strided shape");
              return empty({rows, grad.size(1)}, grad.scalar_type());
            });
  table.add("_embedding_bag_dense_backward", [](const Tensor& grad, Skip, Skip, Skip, Skip, int64_t rows) {
    return empty({rows, grad.size(1)}, grad.scalar_type());
  });
  table.add("_embedding_bag_per_sample_weights_backward",
            [](const Tensor& grad, Skip, const Tensor& indices) {
              return empty({indices.size(0)}, grad.scalar_type());
            });
}

}  // namespace antegrad::capture::rules
