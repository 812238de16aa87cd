#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kResampleTable = R"(
fd : upsample_nearest1d,_upsample_nearest_exact1d | T[2,3,4] (8) | T[2,3,5] (3) | T[2,3,4] (8) 2.0
fd : upsample_nearest1d_backward,_upsample_nearest_exact1d_backward | T[2,3,8] (8) (2,3,4)
fdb : upsample_nearest2d,_upsample_nearest_exact2d | T[2,3,4,4] (8,6) | T[2,3,4,4]@ (8,8)
  | T[2,3,5,5] (3,2) | T[2,3,4,4] (8,8) 2.0 2.0
fd : upsample_nearest2d_backward,_upsample_nearest_exact2d_backward | T[2,3,8,6] (8,6) (2,3,4,4)
fd : upsample_nearest3d,_upsample_nearest_exact3d | T[1,2,3,3,3] (6,4,5)
fd : upsample_nearest3d_backward,_upsample_nearest_exact3d_backward | T[1,2,6,4,5] (6,4,5) (1,2,3,3,3)
fd : upsample_linear1d | T[2,3,4] (8) false | T[2,3,4] (7) true
fd : upsample_linear1d_backward | T[2,3,8] (8) (2,3,4) false
fdb : upsample_bilinear2d | T[2,3,4,4] (8,6) false | T[2,3,4,4]@ (7,7) true | T[2,3,6,6] (3,4) false
fd : upsample_bilinear2d_backward | T[2,3,8,6] (8,6) (2,3,4,4) false | T[2,3,8,6] (8,6) (2,3,4,4) true
fd : upsample_bicubic2d | T[2,3,4,4] (8,6) false | T[2,3,4,4] (7,7) true
fd : upsample_bicubic2d_backward | T[2,3,8,6] (8,6) (2,3,4,4) false
fd : upsample_trilinear3d | T[1,2,3,3,3] (6,4,5) false
fd : upsample_trilinear3d_backward | T[1,2,6,4,5] (6,4,5) (1,2,3,3,3) false
fd : _upsample_bilinear2d_aa,_upsample_bicubic2d_aa | T[2,3,6,6] (3,4) false
fd : _upsample_bilinear2d_aa_backward,_upsample_bicubic2d_aa_backward | T[2,3,3,4] (3,4) (2,3,6,6) false
fd : grid_sampler_2d | T[2,3,4,4] T[2,3,3,2] 0 0 false | T[2,3,4,4] T[2,3,3,2] 1 1 true
  | T[2,3,4,4] T[2,3,3,2] 2 2 false
fd : grid_sampler_2d_backward | T[2,3,3,3] T[2,3,4,4] T[2,3,3,2] 0 0 false (true,true)
fd : grid_sampler_3d | T[1,2,3,3,3] T[1,2,2,2,3] 0 0 false
fd : grid_sampler_3d_backward | T[1,2,2,2,2] T[1,2,3,3,3] T[1,2,2,2,3] 0 0 false (true,true)
)";

}  // namespace antegrad::samples
