#include "samples/table.h"

namespace antegrad::samples {

const std::string_view kPointwiseTable = R"(
# --- unary, any argument
fdbhci : neg,sgn,sin,cos,tan,exp,tanh,sinh,cosh,sigmoid,asinh,atan,exp2,expm1,abs
  | T[3,4] | T[4,3]' | T[2,5]/ | T[] | T[0,3] | T[2,3,2,2]@
fdbi : ceil,floor,round,trunc,sign,relu,erf,erfc,deg2rad,rad2deg,isposinf,isneginf,signbit
  | T[3,4] | T[4,3]' | T[] | T[5]/
fdb : frac | T[3,4] | T[4,3]'
fdbic : isnan,isinf,logical_not,angle | T[3,4] | T[4]=(nan,inf,-inf,1) | T[3,2]'
i : nan_to_num | T[3,4]
fdb : nan_to_num | T[4]=(nan,inf,-inf,1) | T[4]=(nan,inf,-inf,1) nan=0.5 posinf=9.0 neginf=-9.0 | T[4,3]'
fd : round.decimals | T[3,4] decimals=1 | T[4,3]' decimals=-1
oiju : bitwise_not | T[3,4] | T[4,3]' | T[]
cz : _conj_physical,angle,abs,sgn,reciprocal | T[3,4]+ | T[4,3]'+
# --- unary, arguments where the function is defined
fdbi : sqrt,rsqrt,log,log2,log10,log1p,reciprocal,lgamma,digamma
  | T[3,4]+ | T[4,3]'+ | T[]+ | T[0,3] | T[5]/+
cz : sqrt,rsqrt,log,log10,exp,sigmoid,tanh | T[3,4]+
fdb : acos,asin,atanh,erfinv,logit,special_entr | T[3,4]% | T[4,3]'% | T[5]/%
f : logit | T[3,4]% eps=0.1 | T[3,4] 0.2
fd : acosh | T[4]=(1.5,2,3,1.1) | T[2,2]'=(1.5,2,3,1.1)
fdb : sinc,i0 | T[3,4] | T[4,3]'
fd : mvlgamma | T[4]=(2.5,3,4,5.5) 2
fd : polygamma | 1 T[3,4]+ | 2 T[4,3]'+
fd : frexp.Tensor | T[3,4] | T[4,3]'
# --- binary
o : add.Tensor | T[3] T[3] | T[3] i[3] alpha=3
fdbhic : add.Tensor,sub.Tensor
  | T[3,4] T[3,4] | T[3,4] T[4] alpha=2 | T[4,3]' T[4,3] | T[2,5]/ T[2,1] | T[3,4] d[] | i[3,4] f[3,4]
  | f[] d[2]
  | T[0,3] T[1,3] | T[3,1] T[1,4] | f[3] b[3] | T[3,4]* T[3,4] | T[2,3,2,2]@ T[2,3,2,2]
  | T[2,3,2,2]@ T[3,1,1] | T[3] $0 | T[3,3] $0'
fdbhic : mul.Tensor | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3]' | T[2,5]/ T[2,1] | T[3,4] d[]
  | i[3,4] f[3,4]
  | T[0,3] T[1,3] | T[3,1] T[1,4] | f[3] b[3] | o[3] i[3] | T[3,4]* T[3,4] | f[2] c[2] | T[3] $0
fdbhic : div.Tensor | T[3,4] T[3,4]+ | T[3,4] T[4]+ | T[4,3]' T[4,3]'+ | T[3,4] d[]+ | i[3,4] i[3,4]+
  | i[2] f[2]+
fdi : div.Tensor_mode | T[3,4] T[3,4]+ rounding_mode=floor | T[3,4] T[4]+ rounding_mode=trunc
  | T[3,4] T[3,4]+ rounding_mode=_ | i[3] f[3]+ rounding_mode=floor
fdi : div.Scalar_mode | T[3,4] 3 rounding_mode=floor | T[3,4] 1.5 rounding_mode=trunc
  | T[3,4] 2 rounding_mode=_
fdbi : add.Scalar,sub.Scalar,rsub.Scalar | T[3,4] 2 | T[4,3]' 1.5 | T[3,4] 2 3 | i[3] 2.5 | T[] 2
fdbic : mul.Scalar,div.Scalar | T[3,4] 2 | T[4,3]' 1.5 | i[3] 2.5 | T[0] 3
c : mul.Scalar,add.Scalar | T[3] 2j | f[3] 2j
fdi : rsub.Tensor | T[3,4] T[3,4] | T[3,4] T[4] alpha=2
fdbi : maximum,minimum,fmax,fmin | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3] | i[3] f[3]
  | f[3]=(nan,1,2) f[3]
fdbi : fmod.Tensor,remainder.Tensor | T[3,4] T[3,4]+ | T[3,4] T[4]+ | T[4,3]' T[4,3]+ | i[3] f[3]+
fdi : fmod.Scalar,remainder.Scalar | T[3,4] 3 | T[4,3]' 1.5
fi : remainder.Scalar_Tensor | 7 T[3,4]+ | 7.5 T[4,3]'+
fdi : floor_divide | T[3,4] T[3,4]+ | T[3,4] T[4]+
fi : floor_divide.Scalar | T[3,4] 3
fdb : atan2,hypot,logaddexp,copysign.Tensor | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3] | T[] T[3]
fd : logaddexp2,nextafter | T[3,4] T[3,4] | T[3,4] T[4]
i : atan2,copysign.Tensor,div.Tensor | T[3,4] T[3,4]+
fdi : copysign.Scalar | T[3,4] -1 | T[4,3]' -1.5
fdi : heaviside | T[4]=(0,1,-1,0) T[4] | T[3,4] T[4]
fdb : xlogy.Tensor | T[3,4] T[3,4]+ | T[3,4] T[4]+ | i[3] i[3]+
fd : xlogy.Scalar_Other | T[3,4] 2.5
fd : xlogy.Scalar_Self | 2.5 T[3,4]+
fdbic : pow.Tensor_Scalar | T[3,4] 2 | T[4,3]' 3 | T[3,4]+ 0.5 | T[3,4]+ -1 | T[3,4] 0 | T[3,4] 1
  | f[2,2]+ -0.5
fdbi : pow.Tensor_Tensor | T[3,4]+ T[3,4]+ | T[3,4]+ T[4]+ | i[3]+ f[3] | f[3]+ i[3]
fdi : pow.Scalar | 2 T[3,4]+ | 2.5 T[4,3]' | 1 T[3]+
fd : ldexp.Tensor | T[3,4] i[3,4] | T[3,4] i[4]
ij : gcd,lcm | T[3,4] T[3,4] | T[3,4] T[4]
fd : special_zeta | T[3]=(2,3,4) T[3]+
fd : igamma,igammac | T[3,4]+ T[3,4]+
# --- comparisons and logic
fdbic : eq.Tensor,ne.Tensor | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3] | i[3] f[3] | T[] T[2] | T[3] $0
fdbi : lt.Tensor,le.Tensor,gt.Tensor,ge.Tensor
  | T[3,4] T[3,4] | T[3,4] T[4] | T[4,3]' T[4,3] | i[3] f[3] | T[0] T[0] | f[3] d[]
fdbio : eq.Scalar,ne.Scalar,lt.Scalar,le.Scalar,gt.Scalar,ge.Scalar | T[3,4] 1 | T[4,3]' 0.5 | i[3] 1.5
foic : logical_and,logical_or,logical_xor | T[3,4] T[3,4] | T[3,4] T[4] | o[3] f[3]
ioju : bitwise_and.Tensor,bitwise_or.Tensor,bitwise_xor.Tensor | T[3,4] T[3,4] | T[3,4] T[4]
  | T[4,3]' T[4,3] | j[3] i[3]
io : bitwise_and.Scalar,bitwise_or.Scalar,bitwise_xor.Scalar | T[3,4] 1
io : bitwise_and.Scalar_Tensor,bitwise_or.Scalar_Tensor,bitwise_xor.Scalar_Tensor | 1 T[3,4]
ij : bitwise_left_shift.Tensor,bitwise_right_shift.Tensor | T[3,4]+ T[3,4]+ | T[3,4]+ T[4]+
ij : bitwise_left_shift.Tensor_Scalar,bitwise_right_shift.Tensor_Scalar | T[3,4]+ 2
ij : bitwise_left_shift.Scalar_Tensor,bitwise_right_shift.Scalar_Tensor | 16 T[3,4]+
# --- three and more operands
fdb : addcmul | T[3,4] T[3,4] T[3,4] | T[3,4] T[4] T[3,1] value=2 | T[4,3]' T[4,3] T[4,3]' value=0.5
i : addcmul | T[3] T[3] T[3] value=2
fdb : addcdiv | T[3,4] T[3,4] T[3,4]+ | T[3,4] T[4] T[3,1]+ value=2 | T[4,3]' T[4,3] T[4,3]'+ value=0.5
fdb : lerp.Scalar | T[3,4] T[3,4] 0.3 | T[4,3]' T[3] 0.8
fdb : lerp.Tensor | T[3,4] T[3,4] T[3,4] | T[3,4] T[4] T[3,1] | T[3,4] T[3,4] T[]
fdbioc : where.self | o[3,4] T[3,4] T[3,4] | o[3,1] T[4] T[3,4] | o[4,3]' T[4,3]' T[4,3] | o[3] f[3] d[]
  | o[] T[2] T[2]
  | o[3] i[3] f[3]
fdbi : clamp | T[3,4] -1 1 | T[3,4] 0 | T[3,4] _ 1 | T[4,3]' -0.5 0.5 | i[3] -1.5 2
fdbi : clamp_min,clamp_max | T[3,4] 0 | T[4,3]' 0.5
fdi : clamp.Tensor | T[3,4] T[3,4] T[4] | T[3,4] T[4] | T[3,4] _ T[3,4] | T[4,3]' T[] T[]
fdi : clamp_min.Tensor,clamp_max.Tensor | T[3,4] T[3,4] | T[3,4] T[4]
fd : complex | T[3,4] T[3,4] | T[4,3]' T[4,3]
fd : polar | T[3,4]+ T[3,4]
fdi : _add_relu.Tensor | T[3,4] T[3,4]
fi : isin.Tensor_Tensor | T[3,4] T[5] | i[3,4]<5 i[3]<5 invert=true
fi : isin.Tensor_Scalar | T[3,4] 1
fi : isin.Scalar_Tensor | 1 T[3,4]
)";

}  // namespace antegrad::samples
