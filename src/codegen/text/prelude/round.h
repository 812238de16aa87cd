R"ag(
//@ ag_round_even_$t for f32 f64
// To the nearest integer, ties to even. Numbers from 1 / epsilon on are integers.
AG_INLINE $T ag_round_even_$t($T x) {
#ifdef __SSE4_1__
  return __builtin_rint$B(x);
#else
  const $T a = __builtin_fabs$B(x);
  const $T rounded = (a + 1 / $E) - 1 / $E;
  return a < 1 / $E ? __builtin_copysign$B(rounded, x) : x;
#endif
}

//@ ag_floor_$t for f32 f64
AG_INLINE $T ag_floor_$t($T x) {
#ifdef __SSE4_1__
  return __builtin_floor$B(x);
#else
  const $T rounded = ag_round_even_$t(x);
  return rounded > x ? rounded - 1 : rounded;
#endif
}

//@ ag_ceil_$t for f32 f64
AG_INLINE $T ag_ceil_$t($T x) {
#ifdef __SSE4_1__
  return __builtin_ceil$B(x);
#else
  const $T rounded = ag_round_even_$t(x);
  return rounded < x ? __builtin_copysign$B(rounded + 1, x) : rounded;
#endif
}

//@ ag_trunc_$t for f32 f64
AG_INLINE $T ag_trunc_$t($T x) {
#ifdef __SSE4_1__
  return __builtin_trunc$B(x);
#else
  return __builtin_copysign$B(ag_floor_$t(__builtin_fabs$B(x)), x);
#endif
}

//@ ag_low_byte_$t for f32 f64
// Of the integer part as an integer of 64 bits; 0 for what these do not hold.
AG_INLINE uint8_t ag_low_byte_$t($T x) {
  const $T whole = ag_trunc_$t(x);
  const $T low = whole - 256 * ag_floor_$t(whole * ($T)0.00390625);
  return (uint8_t)(int32_t)(__builtin_fabs$B(x) < ($T)0x1p63 ? low : 0);
}

//@ ag_round_even_$t ag_floor_$t ag_ceil_$t ag_trunc_$t for i64 i32 i16 i8 u8
AG_INLINE $T ag_round_even_$t($T x) { return x; }
AG_INLINE $T ag_floor_$t($T x) { return x; }
AG_INLINE $T ag_ceil_$t($T x) { return x; }
AG_INLINE $T ag_trunc_$t($T x) { return x; }
)ag"
