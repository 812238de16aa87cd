#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kRandomTable = R"(
rand,randn | (3,4) | (3,4) dtype=d | () | (0,3)
randint | 5 (3,4) | 5 (3) dtype=f
randint.low | 2 5 (3,4)
randperm | 5 | 5 dtype=j
fdb : rand_like,randn_like | T[3,4] | T[4,3]' | T[3,4] dtype=d
fi : randint_like | T[3,4] 5
fi : randint_like.low_dtype | T[3,4] 2 5
fd : bernoulli | T[3,4]%
fd : bernoulli.p | T[3,4] 0.3
fd : bernoulli.Tensor | T[3,4] T[3,4]%
fdi : bernoulli_.float | T[3,4] | T[4,3]' 0.3
fdi : bernoulli_.Tensor | T[3,4] d[3,4]%
fd : uniform | T[3,4] 0.0 2.0
fdb : uniform_ | T[3,4] | T[4,3]' -1.0 1.0 | T[5]/
fdb : normal_ | T[3,4] | T[4,3]' 1.0 2.0 | T[5]/
fd : normal_functional | T[3,4] 1.0 2.0
fd : normal.Tensor_Tensor | T[3,4] T[3,4]+
fd : normal.Tensor_float | T[3,4] 2.0
fd : normal.float_Tensor | 0.5 T[3,4]+
normal.float_float | 0.0 1.0 (3,4)
fi : random_,random | T[3,4]
fi : random_.to,random.to | T[3,4] 10
fi : random_.from,random.from | T[3,4] 2 10
fd : exponential_,exponential,cauchy_,cauchy,log_normal_,log_normal | T[3,4]
fd : geometric_,geometric | T[3,4] 0.4
fdb : native_dropout | T[3,4] 0.5 true | T[3,4] 0.5 false | T[4,3]' 0.25 true | T[3,4] 0.0 true
fd : multinomial | T[3,4]+ 2 | T[4]+ 6 true
fd : poisson,_standard_gamma,_sample_dirichlet | T[3,4]+
fd : binomial | T[3,4]=(1,2,3,4,5,6,7,8,9,10,11,12) T[3,4]%
fd : rrelu_with_noise | T[3,4] T[3,4] 0.1 0.3 true
fd : rrelu_with_noise_ | T[3,4] T[3,4] 0.1 0.3 true
fd : rrelu_with_noise_functional | T[3,4] T[3,4] 0.1 0.3 true
)";

}  // namespace antegrad::samples
