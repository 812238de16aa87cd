#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kLinalgTable = R"(
fdc : linalg_cholesky_ex | T[3,3]& | T[2,3,3]& upper=true | T[3,3]'& | f[0,0]
fd : cholesky | T[3,3]& | T[3,3]& true
fd : cholesky_inverse | T[3,3]& | T[3,3]& true
fd : cholesky_solve | T[3,2] T[3,3]& | T[3,2] T[3,3]& true
fd : _cholesky_solve_helper | T[3,2] T[3,3]& false
fdc : linalg_lu_factor_ex | T[3,3]& | T[2,3,3] | T[3,4]' pivot=true
fd : linalg_lu | T[3,3] | T[2,4,3]
fd : linalg_lu_solve | T[3,3]& j[3]=(1,2,3) T[3,2] | T[3,3]& j[3]=(2,3,3) T[2,3] left=false
  | T[3,3]& j[3]=(1,2,3) T[3,2] adjoint=true
fd : lu_unpack | T[3,3] j[3]=(2,3,3) | T[3,3] j[3]=(2,3,3) true false
fdc : linalg_solve_triangular | T[3,3]& T[3,2] upper=true | T[3,3]& T[3,2] upper=false unitriangular=true
  | T[3,3]'& T[2,3] upper=true left=false | T[2,3,3]& T[2,3,2] upper=false
fd : triangular_solve | T[3,2] T[3,3]& | T[3,2] T[3,3]& false true
fdc : linalg_inv_ex | T[3,3]& | T[2,3,3]& | T[3,3]'&
fdc : _linalg_solve_ex | T[3,3]& T[3,2] | T[2,3,3]& T[2,3] | T[3,3]& T[2,3] left=false
fdc : _linalg_det,_linalg_slogdet | T[3,3]& | T[2,3,3]&
fdc : _linalg_svd | T[3,4] | T[3,4] true | T[4,3]' false false
fdc : linalg_qr | T[4,3] | T[3,4] complete | T[4,3]' r
fdc : _linalg_eigh | T[3,3]& | T[3,3]& U | T[2,3,3]& L false
fd : linalg_eig,_linalg_eigvals | T[3,3]& | T[2,3,3]&
fd : geqrf | T[4,3]
fd : linalg_householder_product | T[4,3] T[3]
fd : ormqr | T[4,3] T[3] T[4,2]
fd : linalg_ldl_factor_ex | T[3,3]&
fd : linalg_ldl_solve | T[3,3]& j[3]=(1,2,3) T[3,2]
fd : linalg_matrix_exp | T[3,3] | T[2,3,3]
fd : linalg_pinv.atol_rtol_tensor | T[4,3] | T[3,3]& hermitian=true
fdic : linalg_cross | T[4,3] T[4,3] | T[3,4] T[3,4] dim=0 | T[4,3] T[1,3]
)";

}  // namespace antegrad::samples
