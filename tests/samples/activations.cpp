#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kActivationsTable = R"(
fdb : gelu | T[3,4] | T[4,3]' approximate=tanh | T[] | T[2,3,2,2]@
fdb : silu,hardswish,mish,hardsigmoid,hardshrink,softshrink | T[3,4] | T[4,3]' | T[5]/ | T[]
fdb : hardtanh | T[3,4] | T[3,4] -0.5 0.5 | i[3,4] 0 3
fdb : leaky_relu | T[3,4] | T[4,3]' 0.2
fdb : elu | T[3,4] | T[4,3]' 1.5 1.2 0.8
fdb : celu | T[3,4] | T[4,3]' 1.5
fdb : softplus | T[3,4] | T[4,3]' 2 1
fdb : glu | T[3,4] | T[4,3]' 0
fdbi : threshold | T[3,4] 0.5 2
fdb : log_sigmoid_forward | T[3,4] | T[4,3]'
fdb : _prelu_kernel | T[3,4] T[1,4] | T[3,4]' T[3,4]
fdb : _softmax,_log_softmax | T[3,4] 1 false | T[3,4] 0 false | T[2,3,4] -1 false | T[4,3]' 1 false
  | T[] 0 false
  | T[0,3] 1 false | T[2,3,4] 1 false
# --- backward
fdb : gelu_backward | T[3,4] T[3,4] | T[4,3]' T[4,3] approximate=tanh
fdb : silu_backward,hardswish_backward,mish_backward,hardsigmoid_backward | T[3,4] T[3,4] | T[4,3]' T[4,3]
fdb : sigmoid_backward,tanh_backward | T[3,4] T[3,4]% | T[4,3]' T[4,3]% | T[] T[]%
c : sigmoid_backward,tanh_backward | T[3,4] T[3,4]
fdb : hardtanh_backward | T[3,4] T[3,4] -1 1 | T[4,3]' T[4,3] -0.5 0.5
fdb : hardshrink_backward,softshrink_backward | T[3,4] T[3,4] 0.5
fdb : leaky_relu_backward | T[3,4] T[3,4] 0.1 false | T[4,3]' T[4,3] 0.1 true
fdb : elu_backward | T[3,4] 1.0 1.0 1.0 false T[3,4] | T[4,3]' 1.5 1.2 0.8 true T[4,3]
fdb : softplus_backward | T[3,4] T[3,4] 1 20 | T[4,3]' T[4,3] 2 1
fdb : glu_backward | T[3,2] T[3,4] -1 | T[2,3] T[4,3]' 0
fd : glu_jvp | T[3,2] T[3,4] T[3,4] -1
fdbi : threshold_backward | T[3,4] T[3,4] 0 | T[4,3]' T[4,3] 1 | T[3,4]* T[3,4] 0
fdb : logit_backward | T[3,4] T[3,4]% | T[4,3]' T[4,3]% 0.1
fd : log_sigmoid_backward | T[3,4] T[3,4] T[3,4]+
fd : _prelu_kernel_backward | T[3,4] T[3,4] T[1,4]
fd : rrelu_with_noise_backward | T[3,4] T[3,4] T[3,4]+ 0.1 0.3 true false
fdb : _softmax_backward_data,_log_softmax_backward_data | T[3,4] T[3,4]% 1 T | T[3,4] T[3,4]% 0 T
  | T[4,3]' T[4,3]% -1 T
fdb : native_dropout_backward | T[3,4] o[3,4] 2.0 | T[4,3]' o[4,3] 1.25
)";

}  // namespace antegrad::samples
