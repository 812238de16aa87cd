#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kReductionsTable = R"(
fdbio : sum | T[3,4] | T[4,3]' | T[] | T[0] | T[3,4] dtype=d | T[2,5]/
fdbic : sum.dim_IntList
  | T[3,4] (1) | T[3,4] (0) true | T[2,3,4] (0,2) | T[2,3,4] (-1,-3) true | T[3,4] _ | T[3,4] ()
  | T[4,3]' (0) dtype=d
  | T[3,4] _ true | T[0,3] (0) | T[2,3,2,2]@ (0,2,3) | T[2,5]/ (-1) | T[] (0) | o[3,4] (1)
fdbc : mean | T[3,4] | T[4,3]' | i[3,4] dtype=f | T[]
fdbc : mean.dim | T[3,4] (1) | T[3,4] (0) true | T[2,3,4] (0,2) | T[3,4] _ | T[4,3]' (-1) dtype=d
  | T[2,3,2,2]@ (2,3) true
fdb : nansum | T[4]=(nan,1,2,3) | T[3,4] (1) | T[3,4] (0) true
fdbio : prod | T[3,4] | T[4,3]' | T[3] dtype=d
fdbio : prod.dim_int | T[3,4] 1 | T[3,4] -2 true | T[4,3]' 0
fdbio : amax,amin | T[3,4] (1) | T[3,4] () | T[2,3,4] (0,-1) true | T[4,3]' (0) | T[] ()
fdi : aminmax | T[3,4] | T[3,4] dim=1 | T[4,3]' dim=0 keepdim=true
fdbi : max,min | T[3,4] | T[4,3]' | T[]
fdbio : max.dim,min.dim | T[3,4] 1 | T[3,4] 0 true | T[4,3]' -1 | T[] 0
fdbi : argmax,argmin | T[3,4] | T[3,4] 1 | T[3,4] 0 true | T[4,3]' -1 | T[] _
fdoi : any,all | T[3,4] | T[4,3]' | T[] | T[0] | u[3]
fdoi : any.dim,all.dim | T[3,4] 1 | T[3,4] 0 true | T[4,3]' -1
foi : any.dims,all.dims | T[2,3,4] (0,2) | T[2,3,4] (1) true | T[3,4] _
fdb : var.correction,std.correction
  | T[3,4] | T[3,4] (1) | T[3,4] (0) correction=0 keepdim=true | T[2,3,4] (0,2) correction=1 | T[4,3]' (-1)
  | T[2,3,2,2]@ (0,2,3) correction=0 | T[3,4] (1) correction=0.5
fdb : var_mean.correction,std_mean.correction
  | T[3,4] | T[3,4] (1) | T[3,4] (0) correction=0 keepdim=true | T[4,3]' (-1)
c : var.correction,std.correction | T[3,4] (1)
fdb : logsumexp | T[3,4] (1) | T[2,3,4] (0,2) true | T[4,3]' (-1)
fdb : linalg_vector_norm | T[3,4] | T[3,4] 1 (1) | T[3,4] inf (0) true | T[2,3,4] 3 (0,2) | T[4,3]' 0 (-1)
  | T[3,4] 2 _ dtype=d | T[3,4] -inf
c : linalg_vector_norm | T[3,4] 2 (1)
fd : linalg__powsum | T[3,4] 2 (1)
fd : norm.Scalar | T[3,4] | T[3,4] 3
fd : norm.ScalarOpt_dim | T[3,4] 2 (1) | T[3,4] 1 (0) true | T[4,3]' _ (-1)
f : norm.ScalarOpt_dtype | T[3,4] 2 dtype=d
f : norm.ScalarOpt_dim_dtype | T[3,4] 2 (1) false dtype=d
fd : dist | T[3,4] T[3,4] | T[3,4] T[4] 1
fdbi : cumsum | T[3,4] 1 | T[3,4] -2 | T[4,3]' 0 | T[3,4] 0 dtype=d | T[] 0 | o[4] 0
fdbi : cumprod | T[3,4] 1 | T[4,3]' 0 | T[3,4] 0 dtype=d
fd : logcumsumexp,_logcumsumexp | T[3,4] 1 | T[4,3]' 0
fdi : cummax,cummin | T[3,4] 1 | T[4,3]' 0
fi : count_nonzero | T[3,4] | T[3,4] 1
fi : count_nonzero.dim_IntList | T[3,4] (0,1)
fdi : median,nanmedian | T[3,5] | T[5,3]'
fdi : median.dim,nanmedian.dim | T[3,5] 1 | T[3,5] 0 true
fdi : mode | T[3,5]<3 | T[3,5]<3 0 true
fdbi : sort | T[3,5] | T[3,5] 0 | T[3,5] -1 true | T[5,3]'
fdi : sort.stable | T[3,5] stable=true | T[3,5] stable=true dim=0 descending=true | i[3,5]<3 stable=true
fdbi : topk | T[3,5] 2 | T[3,5] 2 0 false | T[5,3]' 3 1 true true | T[5] 5
fdi : kthvalue | T[3,5] 2 | T[3,5] 1 0 true
fd : histc | T[10] 4 -2 2 | T[3,4] 5
fd : histogram.bin_ct | T[10] 4 | T[10] 4 range=(-2,2) density=true
fd : histogram.bins_tensor | T[10] T[4]~
fdi : bucketize.Tensor | T[3,4] T[5]~ | T[4,3]' T[5]~ right=true | T[3,4] T[5]~ out_int32=true
fd : bucketize.Scalar | 0.5 T[5]~
fdi : searchsorted.Tensor | T[5]~ T[3,4] | T[3,5]~ T[3,2] right=true | T[5]~ T[3] side=right
fd : searchsorted.Scalar | T[5]~ 0.5
fdi : trace | T[3,3] | T[4,3]'
fd : renorm | T[3,4] 2 0 1.0 | T[4,3]' 1 1 0.5
o : _is_all_true,_is_any_true | T[3,4]
fd : segment_reduce | T[5] sum lengths=i[2]=(2,3) | T[5,2] mean lengths=i[2]=(2,3) unsafe=true
fd : _aminmax | T[3,4]
fd : _aminmax.dim | T[3,4] 1
f : _safe_softmax | T[3,4] -1
)";

}  // namespace antegrad::samples
