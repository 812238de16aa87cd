#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kIndexingTable = R"(
fdbioc : index.Tensor | T[5,4] {i[3]<5} | T[5,4] {_;i[3]<4} | T[5,4] {i[3,1]<5;i[2]<4}
  | T[4,5]' {i[2]<4} | T[3,5,4] {i[2]<3;_;i[2]<4} | T[5] {i[]<5} | T[5,4] {i[0]<5} | T[5,4] {j[3]<5}
fdi : _unsafe_index.Tensor | T[5,4] {i[3]<5} | T[5,4] {i[3,1]<5;i[2]<4}
fdbi : index_put | T[5,4] {i[3]=(0,2,4)} T[3,4] | T[5,4] {i[3]<5} T[4] true | T[5,4] {_;i[2]=(1,3)} T[5,2]
  | T[5,4] {o[5]=(1,0,1,1,0)} T[] | T[4,5]' {i[2]=(0,3);i[2]=(1,2)} T[2] | T[5] {i[3]<5} T[3] true
fdi : _unsafe_index_put | T[5,4] {i[3]=(0,2,4)} T[3,4] | T[5,4] {i[3]<5} T[4] true
fdi : _index_put_impl | T[5,4] {i[3]=(0,2,4)} T[3,4] | T[5,4] {i[3]<5} T[4] true
fd : _unsafe_masked_index | T[5,4] o[3] {i[3]<5;i[3]<4} 0.5
fd : _unsafe_masked_index_put_accumulate | T[5,4] o[3] {i[3]<5;i[3]<4} T[3]
fdbioc : index_select | T[5,4] 0 i[3]<5 | T[5,4] -1 i[2]<4 | T[4,5]' 0 i[3]<4 | T[5] 0 i[]<5 | T[5,4] 0 j[3]<5
  | T[5,4] 0 i[0]<5
fdi : index_add | T[5,4] 0 i[3]<5 T[3,4] | T[5,4] 1 i[2]<4 T[5,2] alpha=2 | T[4,5]' 0 i[3]<4 T[3,5]
fdi : index_copy | T[5,4] 0 i[3]=(0,2,4) T[3,4] | T[5,4] 1 i[2]=(3,1) T[5,2]
fdi : index_fill.int_Scalar | T[5,4] 0 i[2]<5 2 | T[5,4] -1 i[2]<4 1.5
fdi : index_fill.int_Tensor | T[5,4] 0 i[2]<5 T[]
fd : index_reduce | T[5,4] 0 i[3]<5 T[3,4] prod | T[5,4] 0 i[3]<5 T[3,4] mean include_self=false
  | T[5,4] 1 i[2]<4 T[5,2] amax
fdbi : gather | T[3,4] 1 i[3,2]<4 | T[3,4] 0 i[2,4]<3 | T[4,3]' -1 i[4,5]<3 | T[3] 0 i[4]<3
  | T[3,4] 1 i[0,2]<4
fdbi : scatter.src | T[3,4] 1 i[3,2]=(0,1,3,2,1,0) T[3,2] | T[3,4] 0 i[1,4]=(0,2,1,0) T[2,4]
  | T[4,3]' 1 i[2,1]=(0,2) T[4,3]
fdi : scatter.value | T[3,4] 1 i[3,2]<4 2 | T[4,3]' 0 i[2,3]<4 1.5
fdi : scatter.reduce | T[3,4] 1 i[3,2]<4 T[3,2] reduce=add | T[3,4] 0 i[2,4]<3 T[2,4] reduce=multiply
fdi : scatter.value_reduce | T[3,4] 1 i[3,2]<4 2 reduce=add | T[3,4] 1 i[3,2]<4 2 reduce=multiply
fdbi : scatter_add | T[3,4] 1 i[3,2]<4 T[3,2] | T[3,4] 0 i[5,4]<3 T[5,4] | T[4,3]' 0 i[2,3]<4 T[2,3]
fdi : scatter_reduce.two | T[3,4] 1 i[3,2]<4 T[3,2] sum | T[3,4] 1 i[3,2]<4 T[3,2] amax
  | T[3,4] 0 i[2,4]<3 T[2,4] prod
  | T[3,4] 0 i[2,4]<3 T[2,4] mean include_self=false | T[3,4] 1 i[3,2]<4 T[3,2] amin include_self=false
fdbioc : masked_fill.Scalar | T[3,4] o[3,4] 1 | T[3,4] o[4] 1 | T[4,3]' o[4,3] 0 | T[3,4] o[] 1
fdi : masked_fill.Tensor | T[3,4] o[3,4] T[] | T[3,4] o[3,1] T[]
fdi : masked_scatter | T[3,4] o[3,4] T[12] | T[4,3]' o[3] T[12]
f : masked_scatter_backward | T[2,3] o[2,3] (2,3)
fdio : take | T[3,4] i[5]<12 | T[4,3]' i[2,2]<12 | T[3,4] i[]<12
fdi : put | T[3,4] i[3]=(0,5,11) T[3] | T[3,4] i[3]<12 T[3] true
fdb : embedding | T[5,4] i[3]<5 | T[5,4] i[2,3]<5 1 | T[4,5]' i[3]<4 | T[5,4] i[0]<5 | T[5,4] j[3]<5
fd : embedding_dense_backward | T[3,4] i[3]<5 5 -1 false | T[2,3,4] i[2,3]<5 5 1 false
  | T[3,4] i[3]<5 5 -1 true
fd : _embedding_bag | T[5,4] i[6]<5 i[2]=(0,3) | T[5,4] i[6]<5 i[2]=(0,2) false 1
  | T[5,4] i[6]<5 i[2]=(0,4) false 2
  | T[5,4] i[6]<5 i[2]=(0,3) per_sample_weights=T[6]
fd : _embedding_bag_forward_only | T[5,4] i[6]<5 i[2]=(0,3)
fd : _embedding_bag_dense_backward
  | T[2,4] i[6]<5 i[6]=(0,0,0,1,1,1) i[2]=(3,3) i[0] 5 false 0 _
fd : _embedding_bag_per_sample_weights_backward | T[2,4] T[5,4] i[6]<5 i[2]=(0,3) i[6]=(0,0,0,1,1,1) 0
fd : embedding_renorm | T[5,4] i[3]<5 1.0 2.0
i : nonzero_static | T[6]=(0,1,0,1,1,0) size=4
)";

}  // namespace antegrad::samples
