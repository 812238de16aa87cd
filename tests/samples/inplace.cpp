#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kInplaceTable = R"(
# Most in-place samples are derived from functional ones; these have another schema, or no functional form.
fdbio : copy_ | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3] | T[3,4] d[3,4] | T[5]/ i[5] | T[2,3] T[]
  | T[3] $0
fdio : zero_ | T[3,4] | T[4,3]' | T[5]/ | T[]
fdio : fill_.Scalar | T[3,4] 2 | T[4,3]' 1.5 | T[5]/ 1
fdi : fill_.Tensor | T[3,4] T[] | T[4,3]' d[]
fdi : pow_.Scalar | T[3,4]+ 2 | T[4,3]'+ 3
fd : pow_.Tensor | T[3,4]+ T[3,4]+ | T[3,4]+ T[4]+
fd : add_.Tensor,sub_.Tensor,mul_.Tensor | T[3] $0 | T[3,4] i[3,4] | T[5]/ T[5]
cz : conj_physical_ | T[3,4] | T[4,3]'
fdi : floor_divide_.Tensor | T[3,4] T[3,4]+ | T[3,4] T[4]+
fd : ldexp_ | T[3,4] i[3,4]
fd : polygamma_ | T[3,4]+ 1
# --- metadata only
fi : t_ | T[3,4]
fi : transpose_ | T[3,4] 0 1 | T[2,3,4] 0 2
fi : squeeze_ | T[3,1,4]
fi : squeeze_.dim | T[3,1,4] 1
fi : squeeze_.dims | T[3,1,1] (1,2)
fi : unsqueeze_ | T[3,4] 0 | T[3,4] -1
fi : as_strided_ | T[3,4] (2,2) (4,1)
fi : detach_ | T[3,4]
fi : resize_ | T[3,4] (2,3) | T[3,4] (12)
fi : resize_as_ | T[3,4] T[2,3]
fi : set_.source_Tensor | T[3,4] T[2,2]
f : set_ | T[3,4]
# --- factories into a given tensor
fdi : arange.start_out | 1 9 2 out=T[4] | 0 3 1 out=T[3]/
fdi : zeros.out,ones.out | (3,4) out=T[3,4] | (3,4) out=T[3,4]'
fdi : full.out | (3,4) 2 out=T[3,4] | (3,4) 2 out=T[3,4]'
fdi : eye.out | 3 out=T[3,3]
fd : linspace.out | 0 1 5 out=T[5]
)";

}  // namespace antegrad::samples
