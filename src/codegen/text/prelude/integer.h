R"ag(
// Integers wrap around: sums and products are computed as unsigned. A divisor of zero gives zero; whoever must not
// accept one looks before.
//@ ag_neg_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_neg_$t($T x) { return ($T)($U)(0 - ($U)x); }
//@ ag_abs_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_abs_$t($T x) { return x < 0 ? ag_neg_$t(x) : x; }
//@ ag_add_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_add_$t($T a, $T b) { return ($T)($U)(($U)a + ($U)b); }
//@ ag_sub_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_sub_$t($T a, $T b) { return ($T)($U)(($U)a - ($U)b); }
//@ ag_mul_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_mul_$t($T a, $T b) { return ($T)($U)(1u * ($U)a * ($U)b); }

//@ ag_trunc_div_i64
AG_INLINE int64_t ag_trunc_div_i64(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? ag_neg_i64(a) : a / (b == 0 || b == -1 ? 1 : b);
}
//@ ag_trunc_div_i32
// By way of float64, which vectors can divide: quotients of 32 bits stay clear of the next integer. Divisors 0 and -1,
// found by one comparison, have the results 0 and -a.
AG_INLINE int32_t ag_trunc_div_i32(int32_t a, int32_t b) {
  const int special = (uint32_t)b + 1u <= 1u;
  const int32_t quotient = (int32_t)((double)a / (double)(special ? 2 : b));
  return special ? b & ag_neg_i32(a) : quotient;
}
//@ ag_trunc_div_$t for i16 i8 u8
AG_INLINE $T ag_trunc_div_$t($T a, $T b) {
  const int32_t quotient = (int32_t)((float)a / (float)(b == 0 ? 1 : b));
  return b == 0 ? 0 : ($T)($U)quotient;
}

//@ ag_fmod_$t for i64 i32 i16 i8 u8
// With the sign of the dividend.
AG_INLINE $T ag_fmod_$t($T a, $T b) { return b == 0 ? 0 : ag_sub_$t(a, ag_mul_$t(ag_trunc_div_$t(a, b), b)); }

//@ ag_remainder_$t for i64 i32 i16 i8 u8
// With the sign of the divisor.
AG_INLINE $T ag_remainder_$t($T a, $T b) {
  const $T rest = ag_fmod_$t(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? ag_add_$t(rest, b) : rest;
}

//@ ag_floor_div_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_floor_div_$t($T a, $T b) {
  const $T quotient = ag_trunc_div_$t(a, b);
  const $T rest = ag_sub_$t(a, ag_mul_$t(quotient, b));
  return b != 0 && rest != 0 && (b < 0) != (rest < 0) ? ag_sub_$t(quotient, 1) : quotient;
}

//@ ag_pow_$t for i64 i32 i16 i8 u8
// By a negative exponent it is the reciprocal cut to an integer, and 0 for 0.
AG_INLINE $T ag_pow_$t($T base, $T exponent) {
  $U result = 1;
  $U square = ($U)base;
  for ($U rest = ($U)exponent; rest != 0; rest >>= 1) {
    if (rest & 1) result = ($U)(1u * result * square);
    square = ($U)(1u * square * square);
  }
  const $T reciprocal = base == 1 ? 1 : base != ($T)-1 ? 0 : (exponent & 1) != 0 ? base : 1;
  return exponent < 0 ? reciprocal : ($T)result;
}

//@ ag_gcd_$t for i64 i32 i16 i8 u8
// The smallest integer is its own magnitude, and remainders have the sign of the dividend, as in LibTorch.
AG_INLINE $T ag_gcd_$t($T a, $T b) {
  $T x = ag_abs_$t(a);
  $T y = ag_abs_$t(b);
  while (x != 0) {
    const $T rest = ($T)(y % x);
    y = x;
    x = rest;
  }
  return y;
}

//@ ag_lcm_$t for i64 i32
AG_INLINE $T ag_lcm_$t($T a, $T b) {
  return ag_abs_$t(ag_mul_$t(ag_trunc_div_$t(a, ag_gcd_$t(a, b)), b));
}
//@ ag_lcm_$t for i16 i8 u8
// Only the result wraps around, not the product.
AG_INLINE $T ag_lcm_$t($T a, $T b) {
  const int32_t product = (int32_t)ag_trunc_div_$t(a, ag_gcd_$t(a, b)) * b;
  return ($T)($U)(product < 0 ? -product : product);
}

//@ ag_shift_left_$t for i64 i32 i16 i8 u8
// By amounts below zero or beyond the width nothing is left.
AG_INLINE $T ag_shift_left_$t($T x, $T amount) {
  const $U bits = 8 * sizeof(x);
  return ($U)amount < bits ? ($T)($U)(($U)x << ($U)amount % bits) : 0;
}
//@ ag_shift_right_$t for i64 i32 i16 i8 u8
// By amounts below zero or beyond the width nothing is left but the sign.
AG_INLINE $T ag_shift_right_$t($T x, $T amount) {
  const $U bits = 8 * sizeof(x);
  return ($U)amount < bits ? ($T)(x >> ($U)amount % bits) : x < 0 ? ($T)-1 : 0;
}
)ag"
