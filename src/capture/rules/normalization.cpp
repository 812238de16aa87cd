#include <array>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

using Mask3 = std::array<bool, 3>;

/// Returns the dtype of statistics: that of the parameters, which may be float where inputs are
/// half-precision.
at::ScalarType statistics_type(const Tensor& x, const Tensor& parameter) {
  return parameter.defined() ? parameter.scalar_type() : x.scalar_type();
}

Tensor first_defined(const Tensor& a, const Tensor& b, const Tensor& c = {}) {
  return a.defined() ? a : b.defined() ? b : c;
}

using Three = std::tuple<Tensor, Tensor, Tensor>;

Three batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                 bool training) {
  TORCH_CHECK(x.dim() >= 2, "batch norm expects at least 2 dimensions, got sizes ", x.sizes());
  auto dtype = statistics_type(x, first_defined(weight, bias, running_mean));
  Sizes channels = {training ? x.size(1) : 0};
  return {suggested_like(x), empty(channels, dtype), empty(channels, dtype)};
}

Three batch_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& running_mean, Mask3 mask) {
  auto dtype = statistics_type(x, first_defined(weight, running_mean));
  auto per_channel = [&](bool wanted) { return wanted ? empty({x.size(1)}, dtype) : Tensor(); };
  return {mask[0] ? suggested_like(x) : Tensor(), per_channel(mask[1]), per_channel(mask[2])};
}

/// Makes the first result contiguous: out variants that resize it ignore the memory format.
Three with_contiguous_result(Three results) {
  std::get<0>(results) = contiguous_like(std::get<0>(results));
  return results;
}

void add_batch_norm_out(RuleTable& table) {
  auto with_statistics = [](const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Tensor& running_mean, Skip, bool training) {
    return with_contiguous_result(batch_norm(x, weight, bias, running_mean, training));
  };
  table.add_out("native_batch_norm.out", with_statistics);
  table.add_out("_native_batch_norm_legit.out", with_statistics);
  table.add_out("_native_batch_norm_legit.no_stats_out",
                [](const Tensor& x, const Tensor& weight, const Tensor& bias, bool training) {
                  return with_contiguous_result(batch_norm(x, weight, bias, {}, training));
                });
  table.add_out("_batch_norm_with_update.out", [](const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                  const Tensor& running_mean) {
    return std::tuple_cat(with_contiguous_result(batch_norm(x, weight, bias, running_mean, true)),
                          std::tuple(empty({0}, at::ScalarType::Byte)));
  });
}

void add_batch_norm(RuleTable& table) {
  table.add({"native_batch_norm", "_native_batch_norm_legit"},
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, Skip,
               bool training) { return batch_norm(x, weight, bias, running_mean, training); });
  table.add("_native_batch_norm_legit.no_stats",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, bool training) {
              return batch_norm(x, weight, bias, {}, training);
            });
  table.add("_batch_norm_with_update",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean) {
              return std::tuple_cat(batch_norm(x, weight, bias, running_mean, true),
                                    std::tuple(empty({0}, at::ScalarType::Byte)));
            });
  table.add("_batch_norm_no_update",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean) {
              return std::tuple_cat(batch_norm(x, weight, bias, running_mean, false),
                                    std::tuple(empty({0}, at::ScalarType::Byte)));
            });
  table.add("_native_batch_norm_legit_no_training",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean) {
              return batch_norm(x, weight, bias, running_mean, false);
            });
  table.add("_native_batch_norm_legit_functional",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
               const Tensor& variance, bool training) {
              return std::tuple_cat(batch_norm(x, weight, bias, mean, training),
                                    std::tuple(like(mean), like(variance)));
            });
  table.add("_batch_norm_with_update_functional",
            [](const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
               const Tensor& variance) {
              return std::tuple_cat(batch_norm(x, weight, bias, mean, true),
                                    std::tuple(empty({0}, at::ScalarType::Byte), like(mean), like(variance)));
            });
  table.add("native_batch_norm_backward",
            [](Skip, const Tensor& x, const Tensor& weight, const Tensor& running_mean, Skip, Skip, Skip,
               Skip, Skip, Mask3 mask) { return batch_norm_backward(x, weight, running_mean, mask); });
  table.add("batch_norm_backward",
            [](Skip, const Tensor& x, const Tensor& weight, const Tensor& running_mean, Skip, Skip, Skip,
               Skip, Skip, Mask3 mask) { return batch_norm_backward(x, weight, running_mean, mask); });
  table.add("batch_norm_update_stats", [](const Tensor& x, const Tensor& running_mean) {
    auto dtype = statistics_type(x, running_mean);
    return std::tuple(empty({x.size(1)}, dtype), empty({x.size(1)}, dtype));
  });
}

void add_layer_norm(RuleTable& table) {
  table.add("native_layer_norm", [](const Tensor& x, Sizes shape, const Tensor& weight, const Tensor& bias) {
    int64_t outer = x.dim() - static_cast<int64_t>(shape.size());
    TORCH_CHECK(outer >= 0 && x.sizes().slice(outer) == at::IntArrayRef(shape),
                "Given normalized_shape=", at::IntArrayRef(shape), ", got input of size ", x.sizes());
    Sizes statistics = x.sizes().vec();
    std::fill(statistics.begin() + outer, statistics.end(), 1);
    auto dtype = statistics_type(x, first_defined(weight, bias));
    return std::tuple(contiguous_like(x), empty(statistics, dtype), empty(statistics, dtype));
  });
  table.add("native_layer_norm_backward", [](Skip, const Tensor& x, Sizes shape, const Tensor& mean, Skip,
                                             const Tensor& weight, const Tensor& bias, Mask3 mask) {
    auto gradient = [&](bool wanted, const Tensor& parameter) {
      if (!wanted) return Tensor();
      return empty(shape, parameter.defined() ? parameter.scalar_type() : mean.scalar_type());
    };
    return std::tuple(mask[0] ? contiguous_like(x) : Tensor(), gradient(mask[1], weight),
                      gradient(mask[2], first_defined(bias, weight)));
  });
}

void add_group_norm(RuleTable& table) {
  table.add("native_group_norm", [](const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t batch,
                                    Skip, Skip, int64_t groups) {
    auto dtype = statistics_type(x, first_defined(weight, bias));
    return std::tuple(suggested_like(x), empty({batch, groups}, dtype), empty({batch, groups}, dtype));
  });
  table.add("native_group_norm_backward",
            [](Skip, const Tensor& x, const Tensor& mean, Skip, const Tensor& weight, Skip, int64_t channels,
               Skip, Skip, Mask3 mask) {
              auto gradient = [&](bool wanted) {
                if (!wanted) return Tensor();
                return weight.defined() ? like(weight) : empty({channels}, mean.scalar_type());
              };
              return std::tuple(mask[0] ? suggested_like(x) : Tensor(), gradient(mask[1]), gradient(mask[2]));
            });
}

}  // namespace

void add_normalization_rules(RuleTable& table) {
  add_batch_norm(table);
  add_batch_norm_out(table);
  add_layer_norm(table);
  add_group_norm(table);
  table.add("_weight_norm_interface", [](const Tensor& v, const Tensor& g) {
    return std::tuple(contiguous_like(v),
                      empty_strided(g.sizes(), g.strides(), accumulate_type(g.scalar_type())));
  });
  table.add("_weight_norm_interface_backward", [](Skip, const Tensor& v, const Tensor& g) {
    return std::tuple(contiguous_like(v), contiguous_like(g));
  });
}

}  // namespace antegrad::capture::rules
