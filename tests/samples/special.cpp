#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kSpecialTable = R"(
fd : special_airy_ai,special_bessel_j0,special_bessel_j1,special_erfcx,special_i0e,special_i1,special_i1e,
      special_log_ndtr
  | T[3,4] | T[4,3]'
fd : special_modified_bessel_i0,special_modified_bessel_i1,special_spherical_bessel_j0 | T[3,4] | T[4,3]'
fd : special_bessel_y0,special_bessel_y1,special_modified_bessel_k0,special_modified_bessel_k1
  | T[3,4]+ | T[4,3]'+
fd : special_scaled_modified_bessel_k0,special_scaled_modified_bessel_k1 | T[3,4]+
fd : special_ndtri | T[3,4]% | T[4,3]'%
fd : special_xlog1py | T[3,4] T[3,4]+ | T[3,4] T[4]+
fd : special_xlog1py.other_scalar | T[3,4] 2.5
fd : special_xlog1py.self_scalar | 2.5 T[3,4]+
fd : special_zeta.other_scalar | T[3]=(2,3,4) 2.5
fd : special_zeta.self_scalar | 2.5 T[3]+
fd : special_chebyshev_polynomial_t,special_chebyshev_polynomial_u,special_hermite_polynomial_h
  | T[3,4]% T[4]=(0,1,2,3)
fd : special_laguerre_polynomial_l,special_legendre_polynomial_p,special_hermite_polynomial_he
  | T[3,4]% T[4]=(0,1,2,3)
f : special_chebyshev_polynomial_t.n_scalar,special_hermite_polynomial_h.n_scalar | T[3,4]% 3
)";

}  // namespace antegrad::samples
