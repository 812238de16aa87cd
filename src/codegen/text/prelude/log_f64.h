R"ag(
// Functions of float64 by logarithms to twice the precision. Without FMA, libm is faster.
//@ ag_atanh_tail_f64
// (2 atanh(s) - 2s - 2/3 s^3) / s^5 with z = s^2.
AG_INLINE double ag_atanh_tail_f64(double z) {
  double p = 0x1.e6decda2b4dcfp-4;
  p = ag_fma_f64(p, z, 0x1.debd7b18490f8p-4);
  p = ag_fma_f64(p, z, 0x1.111d0e57a4be5p-3);
  p = ag_fma_f64(p, z, 0x1.3b137cf23375dp-3);
  p = ag_fma_f64(p, z, 0x1.745d17c7a0f07p-3);
  p = ag_fma_f64(p, z, 0x1.c71c71c6728a9p-3);
  p = ag_fma_f64(p, z, 0x1.2492492492788p-2);
  return ag_fma_f64(p, z, 0x1.9999999999999p-2);
}

//@ ag_log_parts_f64
// log |x|, and in *rest what it lacks by rounding, to some 68 bits. Needs FMA: products are exact in two parts.
// With |x| = 2^k (1 + f) and s = f / (2 + f) it is k ln 2 + 2s + 2/3 s^3 + s^5 tail.
AG_INLINE double ag_log_parts_f64(double x, double* rest) {
  const double a = __builtin_fabs(x);
  const double normal = a < 0x1p-1022 ? a * 0x1p52 : a;
  const uint64_t bits = ag_bits_f64(normal) - 0x3fe6a09e667f3bcdu;
  const uint64_t biased = (bits + 0x4000000000000000u) >> 52;
  const double k = ag_to_f64((int64_t)biased - (a < 0x1p-1022 ? 1024 + 52 : 1024));
  const double f = ag_from_bits_f64((bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  const double d = 2.0 + f;
  const double d_rest = f - (d - 2.0);
  const double reciprocal = 1.0 / d;
  const double s = f * reciprocal;
  const double s_rest = ag_fma_f64(-s, d_rest, ag_fma_f64(-s, d, f)) * reciprocal;
  const double z = s * s;
  const double z_rest = ag_fma_f64(s, s, -z) + 2.0 * s * s_rest;
  const double cube = s * z;
  const double cube_rest = ag_fma_f64(s, z, -cube) + ag_fma_f64(s, z_rest, s_rest * z);
  const double t = cube * 0x1.5555555555555p-1;
  const double t_rest = ag_fma_f64(cube, 0x1.5555555555555p-1, -t) +
                        ag_fma_f64(cube, 0x1.5555555555555p-55, cube_rest * 0x1.5555555555555p-1);
  const double near = 2.0 * s + t;
  const double near_rest =
      ((2.0 * s - near) + t) + (ag_fma_f64(cube * z, ag_atanh_tail_f64(z), t_rest) + 2.0 * s_rest);
  const double far = k * 0x1.62e42fefa0000p-1;
  const double sum = far + near;
  const double sum_rest = ((far - sum) + near) + ag_fma_f64(k, 0x1.cf79abc9e3b3ap-40, near_rest);
  const double result = sum + sum_rest;
  const double lost = sum_rest - (result - sum);
  const int finite = a > 0.0 && a < __builtin_inf();
  *rest = finite ? lost : 0.0;
  return a == 0.0 ? -__builtin_inf() : finite ? result : a;
}

//@ ag_exp2_f64
AG_INLINE double ag_exp2_f64(double x) {
  x = x < -1100.0 ? -1100.0 : x;
  x = x > 1030.0 ? 1030.0 : x;
  const double shifted = x + AG_SHIFT_F64;
  const double f = x - (shifted - AG_SHIFT_F64);
  const double r = f * 0x1.62e42fefa39efp-1;
  const double low = ag_fma_f64(f, 0x1.62e42fefa39efp-1, -r) + f * 0x1.abc9e3b39803fp-56;
  const double tail = ag_fma_f64(ag_exp_tail_f64(r), r * r, low);
  return ag_times_shifted_pow2_f64(1.0 + (tail + r), shifted);
}

//@ ag_log_base_f64
// log |x| / log(base) from 1 / log(base) in two parts.
AG_INLINE double ag_log_base_f64(double x, double factor, double factor_rest) {
  double rest;
  const double log = ag_log_parts_f64(x, &rest);
  const double product = log * factor;
  const double more = ag_fma_f64(log, factor, -product) + ag_fma_f64(log, factor_rest, rest * factor);
  const double result = x - x == 0.0 && x != 0.0 ? product + more : product;
  return x < 0.0 ? __builtin_nan("") : result;
}

//@ ag_log2_f64
double log2(double);
AG_INLINE double ag_log2_f64(double x) {
#ifdef __FMA__
  return ag_log_base_f64(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
#else
  return log2(x);
#endif
}

//@ ag_log10_f64
double log10(double);
AG_INLINE double ag_log10_f64(double x) {
#ifdef __FMA__
  return ag_log_base_f64(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
#else
  return log10(x);
#endif
}

//@ ag_exp_parts_f64
// e^(x + rest), where rest is far smaller than 1.
AG_INLINE double ag_exp_parts_f64(double x, double rest) {
  rest = __builtin_fabs(x) < 746.0 ? rest : 0.0;
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  const double shifted = ag_exp_shifted_f64(x);
  const double power = ag_exp_rest_f64(x, shifted - AG_SHIFT_F64);
  return ag_times_shifted_pow2_f64(1.0 + ag_fma_f64(rest, power, rest + power), shifted);
}
)ag"
