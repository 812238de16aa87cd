R"ag(
// Of float32 only tanh is computed in float32. In float64 nothing cancels but for tiny arguments.
//@ ag_tanh_f32
AG_INLINE float ag_tanh_f32(float x) {
  const float a = __builtin_fabsf(x);
  const float large = 1.0f - 2.0f / (ag_exp_normal_f32(2.0f * (a > 10.0f ? 10.0f : a)) + 1.0f);
  const float z = a * a;
  float p = -0x1.75e22ep-8f;
  p = ag_fma_f32(p, z, 0x1.5226b8p-6f);
  p = ag_fma_f32(p, z, -0x1.b83c60p-5f);
  p = ag_fma_f32(p, z, 0x1.110728p-3f);
  p = ag_fma_f32(p, z, -0x1.555532p-2f);
  const float small = ag_fma_f32(p, z * a, a);
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

//@ ag_tanh_f64
AG_INLINE double ag_tanh_f64(double x) {
  const double a = __builtin_fabs(x);
  const double large = 1.0 - 2.0 / (ag_exp_f64(2.0 * (a > 22.0 ? 22.0 : a)) + 1.0);
  const double z = a * a;
  double p = 0x1.f3e423c98ad42p-18;
  p = ag_fma_f64(p, z, -0x1.148b548f8065dp-15);
  p = ag_fma_f64(p, z, 0x1.8a217be17c623p-14);
  p = ag_fma_f64(p, z, -0x1.f3927f5ceca95p-13);
  p = ag_fma_f64(p, z, 0x1.353e12a1ccdabp-11);
  p = ag_fma_f64(p, z, -0x1.7da17a91ad088p-10);
  p = ag_fma_f64(p, z, 0x1.d6d3b83a01189p-9);
  p = ag_fma_f64(p, z, -0x1.226e34f41da6dp-7);
  p = ag_fma_f64(p, z, 0x1.664f488077e31p-6);
  p = ag_fma_f64(p, z, -0x1.ba1ba1ba143e7p-5);
  p = ag_fma_f64(p, z, 0x1.11111111110b1p-3);
  p = ag_fma_f64(p, z, -0x1.5555555555555p-2);
  const double small = ag_fma_f64(p, z * a, a);
  return __builtin_copysign(a < 0.55 ? small : large, x);
}

//@ ag_sinh_f32
AG_INLINE float ag_sinh_f32(float x) {
  const double d = x;
  const double e = ag_exp_f64(d);
  const double small = d + d * d * d * (1.0 / 6.0);
  return (float)(__builtin_fabs(d) < 0x1p-11 ? small : 0.5 * (e - 1.0 / e));
}

//@ ag_cosh_f32
AG_INLINE float ag_cosh_f32(float x) {
  const double e = ag_exp_f64((double)x);
  return (float)(0.5 * (e + 1.0 / e));
}

//@ ag_asinh_f32
AG_INLINE float ag_asinh_f32(float x) {
  const double a = __builtin_fabs((double)x);
  const double small = a - a * a * a * (1.0 / 6.0);
  const double large = ag_log_f64(a + __builtin_sqrt(a * a + 1.0));
  return __builtin_copysignf((float)(a < 0x1p-11 ? small : large), x);
}

//@ ag_acosh_f32
AG_INLINE float ag_acosh_f32(float x) {
  const double d = x;
  const double result = ag_log_f64(d + __builtin_sqrt((d - 1.0) * (d + 1.0)));
  return x < 1.0f ? __builtin_nanf("") : (float)result;
}

//@ ag_atanh_f32
AG_INLINE float ag_atanh_f32(float x) {
  const double d = x;
  const double small = d + d * d * d * (1.0 / 3.0);
  const double large = 0.5 * ag_log_f64((1.0 + d) / (1.0 - d));
  return (float)(__builtin_fabs(d) < 0x1p-11 ? small : large);
}

//@ ag_sinh_f64
double sinh(double);
AG_INLINE double ag_sinh_f64(double x) { return sinh(x); }
//@ ag_cosh_f64
double cosh(double);
AG_INLINE double ag_cosh_f64(double x) { return cosh(x); }
//@ ag_asinh_f64
double asinh(double);
AG_INLINE double ag_asinh_f64(double x) { return asinh(x); }
//@ ag_acosh_f64
double acosh(double);
AG_INLINE double ag_acosh_f64(double x) { return acosh(x); }
//@ ag_atanh_f64
double atanh(double);
AG_INLINE double ag_atanh_f64(double x) { return atanh(x); }
)ag"
