// Fused optimizer steps, gradient scaling and asserts: most write into their arguments and return nothing.
#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {

void add_optimizer_rules(RuleTable& table) {
  table.add({"_fused_adam_", "_fused_adam_.tensor_lr", "_fused_adamw_", "_fused_adamw_.tensor_lr",
             "_fused_sgd_", "_fused_sgd_.tensor_lr", "_fused_adagrad_", "_fused_adagrad_.tensor_lr",
             "_amp_foreach_non_finite_check_and_unscale_"},
            [](Skip) {});
  table.add("_amp_update_scale_", [](const Tensor& scale) { return scale; });
  table.add({"_assert_async", "_assert_async.msg"}, [](Skip) {});
  table.add("_functional_assert_async.msg", [](Skip, Skip, const Tensor& token) { return like(token); });
  table.add("_make_dep_token", [](std::optional<at::ScalarType> dtype) {
    return empty({}, dtype.value_or(c10::typeMetaToScalarType(c10::get_default_dtype())));
  });
}

}  // namespace antegrad::capture::rules
