#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kNnTable = R"(
# --- convolution: input weight bias stride padding dilation transposed output_padding groups
fdb : convolution | T[2,3,6,6] T[4,3,3,3] T[4] (1,1) (1,1) (1,1) false (0,0) 1
  | T[2,3,6,6]@ T[4,3,3,3]@ _ (2,2) (0,0) (1,1) false (0,0) 1
  | T[2,4,6,6] T[4,1,3,3] T[4] (1,1) (1,1) (2,2) false (0,0) 4
  | T[2,3,4,4] T[3,2,3,3] T[2] (2,2) (1,1) (1,1) true (1,1) 1 | T[2,3,8] T[4,3,3] T[4] (1) (1) (1) false (0) 1
  | T[1,2,4,4,4] T[3,2,2,2,2] _ (1,1,1) (0,0,0) (1,1,1) false (0,0,0) 1
  | T[2,3,5,5] T[4,3,1,1] T[4] (1,1) (0,0) (1,1) false (0,0) 1
fd : convolution_backward
  | T[2,4,6,6] T[2,3,6,6] T[4,3,3,3] (4) (1,1) (1,1) (1,1) false (0,0) 1 (true,true,true)
  | T[2,4,2,2]@ T[2,3,6,6]@ T[4,3,3,3]@ _ (2,2) (0,0) (1,1) false (0,0) 1 (true,true,false)
  | T[2,4,6,6] T[2,3,6,6] T[4,3,3,3] (4) (1,1) (1,1) (1,1) false (0,0) 1 (false,true,true)
  | T[2,4,8] T[2,3,8] T[4,3,3] (4) (1) (1) (1) false (0) 1 (true,true,true)
  | T[2,2,8,8] T[2,3,4,4] T[3,2,3,3] (2) (2,2) (1,1) (1,1) true (1,1) 1 (true,true,true)
fd : _slow_conv2d_forward | T[2,3,6,6] T[4,3,3,3] (3,3) T[4] (1,1) (1,1)
fd : slow_conv3d_forward | T[1,2,4,4,4] T[3,2,2,2,2] (2,2,2) T[3] (1,1,1) (0,0,0)
fd : slow_conv_dilated2d | T[2,3,6,6] T[4,3,3,3] (3,3) T[4] dilation=(2,2)
fd : slow_conv_transpose2d | T[2,3,4,4] T[3,2,3,3] (3,3) T[2] (2,2)
fd : conv_tbc | T[5,2,3] T[3,3,4] T[4] 1
# --- pooling
fdb : max_pool2d_with_indices | T[2,3,6,6] 2 | T[2,3,6,6]@ 3 2 1 | T[3,6,6] (2,3) (1,1) (0,0) (1,1) true
  | T[2,3,7,7] 2 2 0 2
fd : max_pool2d_with_indices_backward | T[2,3,3,3] T[2,3,6,6] 2 2 0 1 false i[2,3,3,3]<36
fd : max_pool3d_with_indices | T[1,2,4,4,4] 2
fd : max_pool3d_with_indices_backward | T[1,2,2,2,2] T[1,2,4,4,4] 2 2 0 1 false i[1,2,2,2,2]<64
fdb : avg_pool2d | T[2,3,6,6] 2 | T[2,3,6,6]@ 3 2 1 | T[3,7,7] 2 2 0 true | T[2,3,6,6] 3 2 1 false false
  | T[2,3,6,6] 2 divisor_override=3
fdb : avg_pool2d_backward | T[2,3,3,3] T[2,3,6,6] 2 2 0 false true _
  | T[2,3,3,3]@ T[2,3,6,6]@ 3 2 1 false false _
fd : avg_pool3d | T[1,2,4,4,4] 2 | T[1,2,5,5,5] 3 2 1
fd : avg_pool3d_backward | T[1,2,2,2,2] T[1,2,4,4,4] 2 2 0 false true _
fdb : _adaptive_avg_pool2d | T[2,3,6,6] (2,3) | T[2,3,5,5]@ (3,3) | T[2,3,4,4] (1,1)
fdb : _adaptive_avg_pool2d_backward | T[2,3,2,3] T[2,3,6,6]
fd : _adaptive_avg_pool3d | T[1,2,4,4,4] (2,2,3)
fd : _adaptive_avg_pool3d_backward | T[1,2,2,2,2] T[1,2,4,4,4]
fd : adaptive_max_pool2d | T[2,3,6,6] (2,3)
fd : adaptive_max_pool2d_backward | T[2,3,2,3] T[2,3,6,6] i[2,3,2,3]<36
fd : adaptive_max_pool3d | T[1,2,4,4,4] (2,2,2)
fd : adaptive_max_pool3d_backward | T[1,2,2,2,2] T[1,2,4,4,4] i[1,2,2,2,2]<64
fd : fractional_max_pool2d | T[2,3,6,6] (2,2) (3,3) T[2,3,2]%
fd : max_unpool2d | T[1,1,2,2] i[1,1,2,2]=(0,3,9,14) (4,4)
# --- normalization
fdb : native_layer_norm | T[3,4] (4) T[4] T[4] 1e-5 | T[2,3,4] (3,4) _ _ 1e-5 | T[4,3]' (3) T[3] _ 1e-3
  | T[2,0,4] (4) T[4] T[4] 1e-5
fdb : native_layer_norm_backward | T[3,4] T[3,4] (4) T[3,1] T[3,1]+ T[4] T[4] (true,true,true)
f : native_layer_norm_backward | T[3,4] T[3,4] (4) T[3,1] T[3,1]+ _ _ (true,false,false)
fd : native_batch_norm | T[4,3,2,2] T[3] T[3] T[3] T[3]+ true 0.1 1e-5
  | T[4,3] T[3] T[3] T[3] T[3]+ false 0.1 1e-5
  | T[4,3,2,2]@ _ _ _ _ true 0.1 1e-5
fd : _native_batch_norm_legit | T[4,3,2,2] T[3] T[3] T[3] T[3]+ true 0.1 1e-5
  | T[4,3] T[3] T[3] T[3] T[3]+ false 0.1 1e-5
fd : _native_batch_norm_legit.no_stats | T[4,3,2,2] T[3] T[3] true 0.1 1e-5
fd : _native_batch_norm_legit_no_training | T[4,3,2,2] T[3] T[3] T[3] T[3]+ 0.1 1e-5
fd : _native_batch_norm_legit_functional | T[4,3,2,2] T[3] T[3] T[3] T[3]+ true 0.1 1e-5
fd : _batch_norm_with_update | T[4,3,2,2] T[3] T[3] T[3] T[3]+ 0.1 1e-5
fd : _batch_norm_with_update_functional | T[4,3,2,2] T[3] T[3] T[3] T[3]+ 0.1 1e-5
fd : _batch_norm_no_update | T[4,3,2,2] T[3] T[3] T[3] T[3]+ 0.1 1e-5
fd : native_batch_norm_backward
  | T[4,3,2,2] T[4,3,2,2] T[3] T[3] T[3]+ T[3] T[3]+ true 1e-5 (true,true,true)
  | T[4,3] T[4,3] T[3] T[3] T[3]+ T[3] T[3]+ false 1e-5 (true,true,true)
  | T[4,3,2,2]@ T[4,3,2,2]@ _ _ _ T[3] T[3]+ true 1e-5 (true,false,false)
fd : batch_norm_backward
  | T[4,3,2,2] T[4,3,2,2] T[3] T[3] T[3]+ T[3] T[3]+ true 1e-5 (true,true,true) u[0]
fd : batch_norm_update_stats | T[4,3,2,2] T[3] T[3]+ 0.1
fdb : native_group_norm | T[2,4,3,3] T[4] T[4] 2 4 9 2 1e-5 | T[2,4,3,3]@ _ _ 2 4 9 4 1e-5
fdb : native_group_norm_backward | T[2,4,3,3] T[2,4,3,3] T[2,2] T[2,2]+ T[4] 2 4 9 2 (true,true,true)
)";

}  // namespace antegrad::samples
