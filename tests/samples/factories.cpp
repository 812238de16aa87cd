#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kFactoriesTable = R"(
zeros,ones | (3,4) | (3,4) dtype=d | () | (0,3) dtype=i | (2,2) dtype=o
full | (3,4) 2.5 | (3,4) 2 | () 1 dtype=d | (2) true | (2,2) 1.5 dtype=i
arange | 5 | 5.5 | 4 dtype=f | 0
arange.start | 1 5 | 1.0 4.5 | 2 4 dtype=d
arange.start_step | 1 9 2 | 0.0 1.0 0.25 | 5 0 -1 | 1 4 1 dtype=f
range | 1 4
range.step | 1 4 0.5
linspace | 0 1 5 | 0 10 4 dtype=d | -1.5 2.5 1
linspace.Tensor_Tensor | f[]+ f[] 4
linspace.Tensor_Scalar | f[]+ 2 4
linspace.Scalar_Tensor | 0 f[]+ 4
logspace | 0 2 5 | 0 3 4 2.0 dtype=d
eye | 3 | 3 dtype=d
eye.m | 3 4 | 4 2 dtype=i
scalar_tensor | 2 | 2.5 dtype=d | true | 3 dtype=i
tril_indices,triu_indices | 3 4 | 4 3 1 | 3 3 -1 dtype=j
hann_window,hamming_window,blackman_window,bartlett_window,kaiser_window | 5 | 4 dtype=d
hann_window.periodic,hamming_window.periodic,bartlett_window.periodic | 5 false
fft_fftfreq,fft_rfftfreq | 6 | 5 0.5 dtype=d
empty.memory_format | (3,4) | (3,4) dtype=d | (2,3,4,4) memory_format=channels_last | ()
empty_strided | (3,4) (1,3) | (2,2) (2,1) dtype=i
empty_permuted | (2,3,4) (0,2,1)
fdioc : zeros_like,ones_like | T[3,4] | T[4,3]' | T[4,3]' memory_format=contiguous | T[3,4] dtype=d
  | T[2,3,4,4]@ | T[5]/ | T[]
fdbi : full_like | T[3,4] 2 | T[4,3]' 1.5 dtype=d | T[] 1
fdi : empty_like | T[3,4] | T[4,3]' | T[3,4] dtype=d | T[2,3,4,4]@
fdi : new_zeros,new_ones | T[3,4] (2,2) | T[3,4] () dtype=d
fdi : new_full | T[3,4] (2,2) 3 | T[3,4] (2) 1.5 dtype=d
fdi : new_empty | T[3,4] (2,2) | T[3,4] (0) dtype=d
fdi : new_empty_strided | T[3,4] (2,2) (1,2)
fd : resize | T[3,4] (2,3) | T[3,4] (12)
)";

}  // namespace antegrad::samples
