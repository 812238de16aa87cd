R"ag(
// Division of floating-point numbers with a remainder, as LibTorch defines it.
//@ ag_fmod_f32
float fmodf(float, float);
AG_INLINE float ag_fmod_f32(float a, float b) { return fmodf(a, b); }
//@ ag_fmod_f64
double fmod(double, double);
AG_INLINE double ag_fmod_f64(double a, double b) { return fmod(a, b); }

//@ ag_remainder_$t for f32 f64
// With the sign of the divisor.
AG_INLINE $T ag_remainder_$t($T a, $T b) {
  const $T rest = ag_fmod_$t(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

//@ ag_floor_div_$t for f32 f64
// Exact where a / b would round up to the next integer.
AG_INLINE $T ag_floor_div_$t($T a, $T b) {
  const $T rest = ag_fmod_$t(a, b);
  $T quotient = (a - rest) / b;
  quotient = rest != 0 && (b < 0) != (rest < 0) ? quotient - 1 : quotient;
  const $T floored = ag_floor_$t(quotient);
  const $T nearest = quotient - floored > ($T)0.5 ? floored + 1 : floored;
  return b == 0 ? a / b : quotient == 0 ? __builtin_copysign$B(0, a / b) : nearest;
}

//@ ag_trunc_div_$t for f32 f64
AG_INLINE $T ag_trunc_div_$t($T a, $T b) { return ag_trunc_$t(a / b); }
)ag"
