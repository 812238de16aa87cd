#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kViewsTable = R"(
# --- views: the result shares the storage of the argument
fdbioc : view | T[3,4] (12) | T[3,4] (2,-1) | T[3,4] (2,2,3) | T[0,3] (3,0) | T[] (1) | T[1] ()
fdic : t | T[3,4] | T[4] | T[4,3]' | T[]
fdic : transpose.int | T[3,4] 0 1 | T[2,3,4] -1 0 | T[2,3,4] 1 1 | T[2,3,4,2]@ 1 2
fdi : permute | T[2,3,4] (2,0,1) | T[2,3,4] (0,-1,1) | T[2,3,2,2]@ (0,2,3,1) | T[] ()
fdbio : slice.Tensor | T[3,4] | T[5,4] 0 1 4 | T[3,6] 1 0 6 2 | T[5] 0 -3 -1
  | T[5] 0 1 9223372036854775807 | T[4,6]' 1 1 5 3
  | T[5] 0 4 2 | T[5,3]/ 0 2 4
fdi : select.int | T[3,4] 0 1 | T[3,4] -1 -1 | T[2,3,4] 1 2 | T[4,3]' 0 3 | T[3] 0 0
fdi : as_strided | T[3,4] (2,2) (4,1) | T[3,4] (2,3) (1,4) 1 | T[12] (3,3) (2,1) | T[4] (2,3) (0,1)
fdi : _reshape_alias | T[3,4] (4,3) (3,1)
fdi : diagonal | T[3,4] | T[3,4] 1 | T[3,4] -1 | T[2,3,4] 0 1 2 | T[4,4]' 0 -1 -2
fdi : unfold | T[6] 0 3 1 | T[3,6] 1 2 2 | T[3,6] -1 4 1
fdi : expand | T[3,1] (3,4) | T[4] (3,4) | T[3,1] (2,-1,4) | T[] (2,2) | T[1,4]* (3,4)
fdi : squeeze | T[3,1,4,1] | T[3] | T[1,1]
fdi : squeeze.dim | T[3,1,4] 1 | T[3,1,4] -1 | T[1,3] 0 | T[] 0
fdi : squeeze.dims | T[3,1,4,1] (1,3) | T[3,1,4] (0,1)
fdi : unsqueeze | T[3,4] 0 | T[3,4] -1 | T[4,3]' 1 | T[] 0
fdi : split.Tensor | T[5,4] 2 | T[5,4] 3 1 | T[5] 5 | T[0,2] 1
fdi : split_with_sizes | T[5,4] (2,3) | T[5,4] (1,2,1) -1 | T[4] (4,0)
fdi : unbind.int | T[3,4] | T[3,4] 1 | T[4,3]' -1
cz : view_as_real,_conj | T[3,4] | T[4,3]' | T[]
fd : view_as_complex | T[3,4,2] | T[2]
view.dtype | f[3,4] j | d[3,4] i | f[3,4] h | b[3,4] f | c[3] f | u[8] j
fdic : alias,detach,_neg_view,lift_fresh | T[3,4] | T[4,3]' | T[5]/ | T[]
# --- their copying forms
fdi : view_copy | T[3,4] (12) | T[4,3]' (2,-1)
fi : t_copy,alias_copy,detach_copy,squeeze_copy | T[3,4] | T[4,1]'
fi : transpose_copy.int | T[3,4] 0 1
fi : permute_copy | T[2,3,4] (2,0,1)
fi : slice_copy.Tensor | T[5,4] 0 1 4 | T[3,6] 1 0 6 2
fi : select_copy.int | T[3,4] 0 1
fi : as_strided_copy | T[3,4] (2,3) (1,4) 1
fi : diagonal_copy | T[3,4] 1
fi : unfold_copy | T[3,6] 1 2 2
fi : expand_copy | T[3,1] (3,4)
fi : squeeze_copy.dim | T[3,1,4] 1
fi : squeeze_copy.dims | T[3,1,4,1] (1,3)
fi : unsqueeze_copy | T[3,4] -1
fi : split_copy.Tensor | T[5,4] 2
fi : split_with_sizes_copy | T[5,4] (2,3)
fi : unbind_copy.int | T[3,4] 1
fi : narrow_copy | T[5,4] 0 1 3 | T[5,4] -1 0 2
c : view_as_real_copy,_conj_copy | T[3,4]
f : view_as_complex_copy | T[3,2]
f : view_copy.dtype | T[3,4] j
f : _reshape_copy | T[4,3]' (12)
# --- their adjoints and functional writes
fd : slice_backward | T[2,4] (5,4) 0 1 5 2
fd : select_backward | T[4] (3,4) 0 1
fd : diagonal_backward | T[3] (3,4) 0 0 1
fd : unfold_backward | T[5,2] (6) 0 2 1
fdi : slice_scatter | T[5,4] T[2,4] 0 1 3 | T[3,6] T[3,3] 1 0 6 2 | T[4,5]' T[4,2] 1 -2
fdi : select_scatter | T[3,4] T[4] 0 1 | T[3,4] T[3] -1 -1
fdi : diagonal_scatter | T[3,4] T[3] | T[3,4] T[3] 1
fdi : as_strided_scatter | T[3,4] T[2,2] (2,2) (4,1) | T[3,4] T[2,2] (2,2) (1,4) 1
)";

}  // namespace antegrad::samples
