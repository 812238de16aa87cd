#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kMatmulTable = R"(
fdbhic : mm | T[3,4] T[4,5] | T[3,4]' T[4,5]' | T[3,4]/ T[4,5] | T[3,0] T[0,5] | T[3,3] $0 | T[3,3] $0'
  | T[1,4] T[4,1]
fdbic : addmm | T[3,5] T[3,4] T[4,5] | T[5] T[3,4] T[4,5] | T[3,1] T[3,4]' T[4,5]' | T[5] T[3,0] T[0,5]
f : addmm | T[3,5] T[3,4] T[4,5] beta=0.5 alpha=2 | T[5] T[3,4] T[4,5] beta=0
fdbic : bmm | T[2,3,4] T[2,4,5] | T[2,3,4]' T[2,4,5]' | T[0,3,4] T[0,4,5] | T[2,3,4]* T[2,4,5]
fdbi : baddbmm | T[2,3,5] T[2,3,4] T[2,4,5] | T[5] T[2,3,4] T[2,4,5]' beta=1 alpha=1
f : baddbmm | T[2,3,5] T[2,3,4] T[2,4,5] beta=0.5 alpha=2
fdb : addbmm | T[3,5] T[2,3,4] T[2,4,5] | T[5] T[2,3,4] T[2,4,5]
fdbic : dot | T[4] T[4] | T[4]/ T[4]
cz : vdot | T[4] T[4]
fdbic : mv | T[3,4] T[4] | T[3,4]' T[4]/
fdbi : addmv | T[3] T[3,4] T[4] | T[] T[3,4]' T[4]
f : addmv | T[3] T[3,4] T[4] beta=0.5 alpha=2
fdbi : addr | T[3,4] T[3] T[4] | T[4] T[3] T[4]
f : addr | T[3,4] T[3] T[4] beta=0.5 alpha=2
fdb : _addmm_activation | T[5] T[3,4] T[4,5] | T[3,5] T[3,4] T[4,5] use_gelu=true
f : _trilinear | T[2,3] T[2,3] T[2,3] () () () (0)
fd : _cdist_forward | T[3,4] T[5,4] 2.0 _ | T[2,3,4] T[2,5,4] 1.0 2
fd : _euclidean_dist | T[3,4] T[5,4]
fd : _cdist_backward | T[3,5] T[3,4] T[5,4] 2.0 T[3,5]+
fd : _pdist_forward | T[4,3] | T[4,3] 1.0
fd : _pdist_backward | T[6] T[4,3] 2.0 T[6]+
fdb : _scaled_dot_product_flash_attention_for_cpu
  | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] | T[2,2,4,8] T[2,2,6,8] T[2,2,6,8] 0.0 false scale=0.5
  | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] 0.0 true | T[1,2,4,8] T[1,2,6,8] T[1,2,6,8] attn_mask=T[4,6]
fd : _scaled_dot_product_flash_attention_for_cpu_backward
  | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4]+ 0.0 false
  | T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4,8] T[2,2,4]+ 0.0 true
f : _transform_bias_rescale_qkv | T[2,3,24] T[24] 2
f : _masked_softmax | T[2,2,4,4] o[4,4]=(0,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1) 3 0
  | T[3,4] o[3,4]=(0,0,1,0,0,0,0,1,0,0,0,0) 1 2
f : _masked_softmax_backward | T[3,4] T[3,4]% o[3,4] 1
fd : _weight_norm_interface | T[3,4] T[3,1]+ | T[3,4] T[1,4]+ 1
fd : _weight_norm_interface_backward | T[3,4] T[3,4] T[3,1]+ T[3,1]+ 0
)";

}  // namespace antegrad::samples
