#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kForeachTable = R"(
# In-place forms are derived.
fdb : _foreach_abs,_foreach_neg,_foreach_sin,_foreach_cos,_foreach_tan,_foreach_exp,_foreach_tanh,
      _foreach_sinh,_foreach_cosh
  | {T[3,4];T[2]} | {T[4,3]';T[5]/;T[]}
fdb : _foreach_ceil,_foreach_floor,_foreach_round,_foreach_trunc,_foreach_frac,_foreach_sign,
      _foreach_sigmoid,_foreach_atan
  | {T[3,4];T[2]}
fdb : _foreach_erf,_foreach_erfc,_foreach_expm1 | {T[3,4];T[2]}
fdb : _foreach_sqrt,_foreach_rsqrt,_foreach_log,_foreach_log10,_foreach_log1p,_foreach_log2,
      _foreach_reciprocal,_foreach_lgamma
  | {T[3,4]+;T[2]+} | {T[4,3]'+;T[]+}
fd : _foreach_acos,_foreach_asin | {T[3,4]%;T[2]%}
fdbi : _foreach_add.List,_foreach_sub.List | {T[3,4];T[2]} {T[3,4];T[2]} | {T[4,3]';T[]} {T[4,3];T[]} alpha=2
fdbi : _foreach_mul.List,_foreach_maximum.List,_foreach_minimum.List | {T[3,4];T[2]} {T[3,4];T[2]}
  | {T[4,3]';T[]} {T[4,3];T[]}
fd : _foreach_clamp_max.List,_foreach_clamp_min.List | {T[3,4];T[2]} {T[3,4];T[2]}
fdb : _foreach_div.List,_foreach_pow.List | {T[3,4]+;T[2]+} {T[3,4]+;T[2]+}
fdb : _foreach_add.Scalar,_foreach_sub.Scalar,_foreach_mul.Scalar,_foreach_div.Scalar | {T[3,4];T[2]} 2.5
  | {T[4,3]';T[]} 2
fd : _foreach_maximum.Scalar,_foreach_minimum.Scalar,_foreach_clamp_max.Scalar,_foreach_clamp_min.Scalar
  | {T[3,4];T[2]} 0.5
fd : _foreach_pow.Scalar | {T[3,4]+;T[2]+} 2.0
fd : _foreach_pow.ScalarAndTensor | 2.0 {T[3,4]+;T[2]+}
fd : _foreach_add.ScalarList,_foreach_sub.ScalarList,_foreach_mul.ScalarList,_foreach_div.ScalarList
  | {T[3,4];T[2]} (2.5,1.5)
fd : _foreach_maximum.ScalarList,_foreach_minimum.ScalarList,_foreach_clamp_max.ScalarList,
      _foreach_clamp_min.ScalarList
  | {T[3,4];T[2]} (0.5,0.25)
fd : _foreach_pow.ScalarList | {T[3,4]+;T[2]+} (2.0,3.0)
fd : _foreach_add.Tensor,_foreach_mul.Tensor,_foreach_div.Tensor | {T[3,4];T[2]} T[]+
fd : _foreach_addcmul.Scalar,_foreach_addcdiv.Scalar | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} 0.5
fd : _foreach_addcmul.ScalarList,_foreach_addcdiv.ScalarList
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} (0.5,2.0)
fd : _foreach_addcmul.Tensor,_foreach_addcdiv.Tensor | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} T[2]
fd : _foreach_lerp.List | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]}
fd : _foreach_lerp.Scalar | {T[3,4];T[2]} {T[3,4];T[2]} 0.3
fd : _foreach_lerp.ScalarList | {T[3,4];T[2]} {T[3,4];T[2]} (0.3,0.7)
fd : _foreach_max | {T[3,4];T[2]}
fd : _foreach_norm.Scalar | {T[3,4];T[2]} | {T[3,4];T[2]} 1
f : _foreach_powsum.Scalar | {T[3,4];T[2]} 2
fd : _foreach_copy | {T[3,4];T[2]} {T[3,4];T[2]}
fi : _foreach_zero_ | {T[3,4];T[2]} | {T[4,3]';T[]}
# --- optimizers: parameters, gradients, state, steps
fd : _fused_sgd
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]} weight_decay=0.01 momentum=0.9 lr=0.1 dampening=0.0
      nesterov=true maximize=false is_first_step=false
  | {T[3,4];T[2]} {T[3,4];T[2]} {} weight_decay=0.0 momentum=0.0 lr=0.1 dampening=0.0 nesterov=false
      maximize=true is_first_step=true
f : _fused_sgd.tensor_lr
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]} weight_decay=0.01 momentum=0.9 lr=d[]=(0.1) dampening=0.0
      nesterov=true maximize=false is_first_step=false
fd : _fused_adam,_fused_adamw
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} {} {f[]=(3);f[]=(3)} lr=0.1 beta1=0.9
      beta2=0.999 weight_decay=0.01 eps=1e-8 amsgrad=false maximize=false
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} {T[3,4]+;T[2]+} {f[]=(3);f[]=(3)} lr=0.1
      beta1=0.9 beta2=0.999 weight_decay=0.01 eps=1e-8 amsgrad=true maximize=true
f : _fused_adam.tensor_lr,_fused_adamw.tensor_lr
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} {} {f[]=(3);f[]=(3)} lr=d[]=(0.1) beta1=0.9
      beta2=0.999 weight_decay=0.01 eps=1e-8 amsgrad=false maximize=false
fd : _fused_adagrad
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} {f[]=(3);f[]=(3)} lr=0.1 lr_decay=0.0 weight_decay=0.01
      eps=1e-8 maximize=false
f : _fused_adagrad.tensor_lr
  | {T[3,4];T[2]} {T[3,4];T[2]} {T[3,4]+;T[2]+} {f[]=(3);f[]=(3)} lr=f[]=(0.1) lr_decay=0.0 weight_decay=0.01
      eps=1e-8 maximize=false
)";

}  // namespace antegrad::samples
