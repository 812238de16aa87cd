R"ag(
//@ ag_abs_$t for f32 f64
AG_INLINE $T ag_abs_$t($T x) { return __builtin_fabs$B(x); }
//@ ag_copysign_$t for f32 f64
AG_INLINE $T ag_copysign_$t($T x, $T sign) { return __builtin_copysign$B(x, sign); }
//@ ag_signbit_$t for f32 f64
AG_INLINE _Bool ag_signbit_$t($T x) { return ($I)ag_bits_$t(x) < 0; }
//@ ag_isinf_$t for f32 f64
AG_INLINE _Bool ag_isinf_$t($T x) { return __builtin_fabs$B(x) == __builtin_inf$B(); }
//@ ag_isfinite_$t for f32 f64
AG_INLINE _Bool ag_isfinite_$t($T x) { return __builtin_fabs$B(x) < __builtin_inf$B(); }
//@ ag_signbit_$t ag_isinf_$t ag_isfinite_$t for i64 i32 i16 i8 u8
AG_INLINE _Bool ag_signbit_$t($T x) { return x < 0; }
AG_INLINE _Bool ag_isinf_$t($T x) { return (void)x, 0; }
AG_INLINE _Bool ag_isfinite_$t($T x) { return (void)x, 1; }
//@ ag_sign_$t for f32 f64 i64 i32 i16 i8 u8
AG_INLINE $T ag_sign_$t($T x) { return ($T)((x > 0) - (x < 0)); }
//@ ag_sgn_$t for f32 f64 i64 i32 i16 i8 u8
AG_INLINE $T ag_sgn_$t($T x) { return ag_sign_$t(x); }
//@ ag_heaviside_$t for f32 f64 i64 i32 i16 i8 u8
AG_INLINE $T ag_heaviside_$t($T x, $T at_zero) { return x == 0 ? at_zero : ($T)(x > 0); }

//@ ag_nan_max_$t for f32 f64
// NaN where there is one; the second of equal ones.
AG_INLINE $T ag_nan_max_$t($T a, $T b) { return a != a ? a : a > b ? a : b; }
//@ ag_nan_min_$t for f32 f64
AG_INLINE $T ag_nan_min_$t($T a, $T b) { return a != a ? a : a < b ? a : b; }
//@ ag_nan_max_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_nan_max_$t($T a, $T b) { return a > b ? a : b; }
//@ ag_nan_min_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_nan_min_$t($T a, $T b) { return a < b ? a : b; }

//@ ag_fmax_$t for f32 f64
// NaN only where both are; the first of equal ones.
AG_INLINE $T ag_fmax_$t($T a, $T b) { return b > a || a != a ? b : a; }
//@ ag_fmin_$t for f32 f64
AG_INLINE $T ag_fmin_$t($T a, $T b) { return b < a || a != a ? b : a; }
//@ ag_fmax_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_fmax_$t($T a, $T b) { return a > b ? a : b; }
//@ ag_fmin_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_fmin_$t($T a, $T b) { return a < b ? a : b; }

//@ ag_clamp_min_$t for f32 f64 i64 i32 i16 i8 u8
// Of equal ones x itself, so that a zero keeps its sign; a NaN among the bounds is the result.
AG_INLINE $T ag_clamp_min_$t($T x, $T low) { return ag_nan_max_$t(low, x); }
//@ ag_clamp_max_$t for f32 f64 i64 i32 i16 i8 u8
AG_INLINE $T ag_clamp_max_$t($T x, $T high) { return ag_nan_min_$t(high, x); }
//@ ag_clamp_$t for f32 f64 i64 i32 i16 i8 u8
AG_INLINE $T ag_clamp_$t($T x, $T low, $T high) { return ag_nan_min_$t(high, ag_nan_max_$t(low, x)); }

//@ ag_order_max_$t for f32 f64
// An integer in the order of numbers, for reductions over integers; NaN is the largest.
AG_INLINE $I ag_order_max_$t($T x) {
  const $U bits = ag_bits_$t(x);
  const $I order = ($I)(bits ^ ((0 - (bits >> (8 * sizeof x - 1))) >> 1));
  return x != x ? ($I)(~($U)0 >> 1) : order;
}

//@ ag_order_min_$t for f32 f64
// The same, NaN being the smallest.
AG_INLINE $I ag_order_min_$t($T x) {
  const $U bits = ag_bits_$t(x);
  const $I order = ($I)(bits ^ ((0 - (bits >> (8 * sizeof x - 1))) >> 1));
  return x != x ? ($I)~(~($U)0 >> 1) : order;
}

//@ ag_from_order_$t for f32 f64
// The inverse of both.
AG_INLINE $T ag_from_order_$t($I order) {
  const $U bits = ($U)order;
  return ag_from_bits_$t(bits ^ ((0 - (bits >> (8 * sizeof order - 1))) >> 1));
}
)ag"
