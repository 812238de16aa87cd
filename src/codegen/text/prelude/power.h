R"ag(
//@ ag_sqrt_$t for f32 f64
AG_INLINE $T ag_sqrt_$t($T x) { return __builtin_sqrt$B(x); }
//@ ag_rsqrt_$t for f32 f64
AG_INLINE $T ag_rsqrt_$t($T x) { return 1 / __builtin_sqrt$B(x); }

//@ ag_pow_special_f64
// pow(x, y) from pow(|x|, y), which is right where 0 < |x| != 1 and no NaN is involved.
AG_INLINE double ag_pow_special_f64(double x, double y, double power) {
  const double half = 0.5 * y;
  const int integer = ag_round_even_f64(y) == y;
  const int odd = integer && ag_round_even_f64(half) != half;
  power = __builtin_fabs(x) == 1.0 && y == y ? 1.0 : power;
  power = odd ? __builtin_copysign(power, x) : power;
  power = x < 0.0 && !integer && x > -__builtin_inf() ? __builtin_nan("") : power;
  return x == 1.0 || y == 0.0 ? 1.0 : power;
}

//@ ag_pow_f32
AG_INLINE float ag_pow_f32(float x, float y) {
  const double power = ag_exp_f64((double)y * ag_log_f64(__builtin_fabs((double)x)));
  return (float)ag_pow_special_f64((double)x, (double)y, power);
}

//@ ag_pow_f64
double pow(double, double);
AG_INLINE double ag_pow_f64(double x, double y) {
#ifdef __FMA__
  double rest;
  const double log = ag_log_parts_f64(x, &rest);
  const double product = y * log;
  const double power = ag_exp_parts_f64(product, ag_fma_f64(y, log, -product) + y * rest);
  return ag_pow_special_f64(x, y, power);
#else
  return pow(x, y);
#endif
}

//@ ag_hypot_f32
AG_INLINE float ag_hypot_f32(float a, float b) {
  const float result = (float)__builtin_sqrt((double)a * (double)a + (double)b * (double)b);
  const int infinite = __builtin_fabsf(a) == __builtin_inff() || __builtin_fabsf(b) == __builtin_inff();
  return infinite ? __builtin_inff() : result;
}

//@ ag_hypot_f64
double hypot(double, double);
AG_INLINE double ag_hypot_f64(double a, double b) { return hypot(a, b); }

//@ ag_log_add_exp_$t for f32 f64
AG_INLINE $T ag_log_add_exp_$t($T a, $T b) {
  const $T sum = ag_nan_max_$t(a, b) + ag_log1p_$t(ag_exp_$t(-__builtin_fabs$B(a - b)));
  return a == b && __builtin_fabs$B(a) == __builtin_inf$B() ? a : sum;
}

//@ ag_log2_add_exp2_$t for f32 f64
AG_INLINE $T ag_log2_add_exp2_$t($T a, $T b) {
  const $T rest = ag_log1p_$t(ag_exp2_$t(-__builtin_fabs$B(a - b))) * ($T)0x1.71547652b82fep+0;
  return a == b && __builtin_fabs$B(a) == __builtin_inf$B() ? a : ag_nan_max_$t(a, b) + rest;
}

//@ ag_xlogy_$t for f32 f64
AG_INLINE $T ag_xlogy_$t($T x, $T y) {
  const $T product = x * ag_log_$t(y);
  return y != y ? y : x == 0 ? 0 : product;
}
)ag"
