#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kShapingTable = R"(
# --- joining, padding, moving elements
fdbic : cat | {T[2,3];T[4,3]} | {T[2,3];T[2,1]} 1 | {T[3,2]';T[1,2]} | {f[2];d[3]} | {T[2,2];T[0]}
  | {T[2];T[0];T[1]} -1
  | {T[2,2,2,2]@;T[2,1,2,2]@} 1 | {i[2];f[2];o[1]}
fdi : stack,_stack | {T[2,3];T[2,3]} | {T[2,3];T[2,3]} 1 | {T[3,2]';T[3,2]} -1 | {T[];T[]}
f : block_diag | {T[2,3];T[1,2]}
f : _chunk_cat | {T[4,2];T[2,2]} 0 2
fdbi : constant_pad_nd | T[3,4] (1,2) | T[3,4] (1,1,0,2) 1.5 | T[3,4] (-1,1) 2 | T[4,3]' (0,1,1,0)
fdb : reflection_pad1d | T[2,3,5] (1,2) | T[3,5] (2,0)
fdb : replication_pad1d | T[2,3,5] (1,2) | T[3,5] (2,0)
fd : reflection_pad2d,replication_pad2d | T[2,3,4,4] (1,2,0,1) | T[2,3,4,4]@ (1,1,1,1) | T[3,4,4] (1,0,2,1)
fd : reflection_pad3d,replication_pad3d | T[1,2,3,3,3] (1,1,0,2,1,0)
fd : reflection_pad1d_backward,replication_pad1d_backward | T[2,3,8] T[2,3,5] (1,2)
fd : reflection_pad2d_backward,replication_pad2d_backward | T[2,3,5,7] T[2,3,4,4] (1,2,0,1)
fd : reflection_pad3d_backward,replication_pad3d_backward | T[1,2,4,5,5] T[1,2,3,3,3] (1,1,0,2,1,0)
fdi : roll | T[3,4] (1) (0) | T[3,4] (1,-1) (0,1) | T[3,4] (5) | T[4,3]' (2) (-1)
fdioc : flip | T[3,4] (0) | T[3,4] (0,1) | T[4,3]' (-1) | T[3] ()
fdi : rot90 | T[3,4] | T[3,4] 2 (0,1) | T[3,4] -1 (1,0)
fdic : repeat | T[3,4] (2,1) | T[4] (2,3) | T[] (3) | T[3,4] (1,0) | T[3,2]' (2,2,2)
fdbi : tril,triu | T[3,4] | T[3,4] 1 | T[2,4,4] -1 | T[4,3]'
fdi : diag_embed | T[3] | T[2,3] 1 | T[2,3] -1 0 2
fd : pixel_shuffle | T[2,8,2,3] 2 | T[2,4,2,2]@ 2
fd : pixel_unshuffle | T[2,2,4,6] 2
f : channel_shuffle | T[2,4,3,3] 2
fd : im2col | T[2,3,5,5] 2 1 0 1 | T[2,2,5,5] (2,3) (1,1) (1,0) (2,1) | T[3,4,4] 2 1 1 2
fd : col2im | T[2,12,16] (5,5) 2 1 0 1 | T[2,12,10] (5,5) (2,3) (1,1) (0,1) (2,1)
fi : unsafe_split.Tensor | T[5,4] 2
fi : unsafe_split_with_sizes | T[5,4] (2,3)
# --- copies and conversions
fdbioc : clone | T[3,4] | T[4,3]' | T[4,3]' memory_format=contiguous
  | T[2,3,4,4] memory_format=channels_last | T[5]/
  | T[3,4]* memory_format=preserve | T[2,3,4,4]@
fdbioc : _to_copy | T[3,4] | T[3,4] dtype=d | T[4,3]' dtype=b | f[3] dtype=i | i[3] dtype=f
  | f[3] dtype=o | f[3] dtype=c
  | T[2,3,4,4] memory_format=channels_last | b[3,4] dtype=f | h[2] dtype=f | f[3] dtype=u | T[2,5]/ dtype=h
fdi : copy | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' d[4,3] | f[3] i[3]
fdi : fill.Scalar | T[3,4] 2 | T[4,3]' 1.5
fdi : fill.Tensor | T[3,4] T[] | T[4,3]' d[]
fi : zero | T[3,4] | T[4,3]'
fi : _unsafe_view | T[3,4] (12)
f : lift_fresh_copy,lift | T[3,4]
# --- fourier transforms
fd : _fft_r2c | T[3,8] (1) 0 true | T[3,8] (0,1) 1 true | T[3,6] (1) 2 false | T[6,4]' (0) 0 true
cz : _fft_c2c | T[3,8] (1) 0 true | T[3,8] (0,1) 2 false | T[6,4]' (0) 1 true
cz : _fft_c2r | T[3,5] (1) 0 8 | T[3,5] (0,1) 2 9
# --- grids
fd : affine_grid_generator | T[2,2,3] (2,3,4,4) false | T[2,2,3] (2,3,4,4) true
)";

}  // namespace antegrad::samples
