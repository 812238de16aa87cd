R"ag(
//@ ag_erf_f32
AG_INLINE float ag_erf_f32(float x) {
  const float a = __builtin_fabsf(x);
  const float z = a * a;
  float small = 0x1.496a3ep-14f;
  small = ag_fma_f32(small, z, -0x1.a3f700p-11f);
  small = ag_fma_f32(small, z, 0x1.5405b2p-8f);
  small = ag_fma_f32(small, z, -0x1.b7f90cp-6f);
  small = ag_fma_f32(small, z, 0x1.ce2cf8p-4f);
  small = ag_fma_f32(small, z, -0x1.81273ep-2f);
  small = ag_fma_f32(small, z, 0x1.06eba8p-3f);
  small = ag_fma_f32(small, a, a);
  const float u = a - 2.46f;
  float large = 0x1.24d04cp-20f;
  large = ag_fma_f32(large, u, 0x1.c8f812p-24f);
  large = ag_fma_f32(large, u, -0x1.225c76p-16f);
  large = ag_fma_f32(large, u, 0x1.9d297ap-16f);
  large = ag_fma_f32(large, u, 0x1.3dc324p-14f);
  large = ag_fma_f32(large, u, -0x1.39f2e2p-12f);
  large = ag_fma_f32(large, u, 0x1.7546f6p-12f);
  large = ag_fma_f32(large, u, 0x1.e15c76p-12f);
  large = ag_fma_f32(large, u, -0x1.80fcf8p-9f);
  large = ag_fma_f32(large, u, 0x1.bda03cp-8f);
  large = ag_fma_f32(large, u, -0x1.44de12p-7f);
  large = ag_fma_f32(large, u, 0x1.423042p-7f);
  large = ag_fma_f32(large, u, -0x1.ac3f16p-8f);
  large = ag_fma_f32(large, u, 0x1.5c28a4p-9f);
  large = ag_fma_f32(large, u, 0x1.ffbe06p-1f);
  large = a > 3.92f ? 1.0f : large;
  return __builtin_copysignf(a < 1.0f ? small : large, x);
}

//@ ag_erf_f64
// Beyond 0.84 it is 1 - erfc, erfc being e^(-x^2) p(t) / (1 + 2x) with t = (x - 3) / (x + 3).
AG_INLINE double ag_erf_f64(double x) {
  const double a = __builtin_fabs(x);
  const double z = a * a;
  double small = -0x1.e544f50801380p-31;
  small = ag_fma_f64(small, z, 0x1.e76913f3322b0p-27);
  small = ag_fma_f64(small, z, -0x1.5e0910c0da1afp-23);
  small = ag_fma_f64(small, z, 0x1.b9c7d259a99fap-20);
  small = ag_fma_f64(small, z, -0x1.f4d09abe77ecep-17);
  small = ag_fma_f64(small, z, 0x1.f9a315e736be3p-14);
  small = ag_fma_f64(small, z, -0x1.c02db392a898ep-11);
  small = ag_fma_f64(small, z, 0x1.565bcd0cab43ap-8);
  small = ag_fma_f64(small, z, -0x1.b82ce31280485p-6);
  small = ag_fma_f64(small, z, 0x1.ce2f21a042a91p-4);
  small = ag_fma_f64(small, z, -0x1.812746b0379e5p-2);
  small = ag_fma_f64(small, z, 0x1.06eba8214db69p-3);
  small = ag_fma_f64(small, a, a);
  const double c = a > 6.0 ? 6.0 : a;
  const double t = (c - 3.0) / (c + 3.0);
  double p = 0x1.716501de39bbdp-15;
  p = ag_fma_f64(p, t, 0x1.5537a2b09404cp-13);
  p = ag_fma_f64(p, t, -0x1.636e894d0db07p-14);
  p = ag_fma_f64(p, t, -0x1.960948791e13bp-11);
  p = ag_fma_f64(p, t, 0x1.eefda21663b37p-10);
  p = ag_fma_f64(p, t, 0x1.4b69451a44dfap-9);
  p = ag_fma_f64(p, t, -0x1.857647577b453p-6);
  p = ag_fma_f64(p, t, 0x1.17ca1405202dbp-4);
  p = ag_fma_f64(p, t, -0x1.e88b82ba93f24p-4);
  p = ag_fma_f64(p, t, 0x1.098366918f354p-3);
  p = ag_fma_f64(p, t, -0x1.85a15c59c5545p-5);
  p = ag_fma_f64(p, t, -0x1.15c084bb96be9p-3);
  p = ag_fma_f64(p, t, 0x1.40c522d7e4a08p+0);
  const double large = 1.0 - ag_exp_f64(-c * c) * p / (1.0 + 2.0 * c);
  return __builtin_copysign(a < 0.84 ? small : large, x);
}

//@ ag_erfc_f32
// In float64, where the square of x is exact.
AG_INLINE float ag_erfc_f32(float x) {
  const double a = __builtin_fabs((double)x);
  const double c = a > 10.3 ? 10.3 : a;
  const double t = (c - 3.0) / (c + 3.0);
  double p = -0x1.5ea431031a663p-11;
  p = ag_fma_f64(p, t, 0x1.da6a3e96ba525p-10);
  p = ag_fma_f64(p, t, 0x1.468c7fc0f26f3p-9);
  p = ag_fma_f64(p, t, -0x1.851c7d3b25fdbp-6);
  p = ag_fma_f64(p, t, 0x1.17d0386f0e20ep-4);
  p = ag_fma_f64(p, t, -0x1.e88de89849985p-4);
  p = ag_fma_f64(p, t, 0x1.0983360e59036p-3);
  p = ag_fma_f64(p, t, -0x1.85a12d50ca151p-5);
  p = ag_fma_f64(p, t, -0x1.15c083df3ede8p-3);
  p = ag_fma_f64(p, t, 0x1.40c522d59ab96p+0);
  const double large = ag_exp_f64(-c * c) * p / (1.0 + 2.0 * c);
  const double z = (double)x * (double)x;
  double erf = 0x1.729e946b0fce2p-14;
  erf = ag_fma_f64(erf, z, -0x1.b03cfffd5e770p-11);
  erf = ag_fma_f64(erf, z, 0x1.556587f54aa14p-8);
  erf = ag_fma_f64(erf, z, -0x1.b81d6a773c597p-6);
  erf = ag_fma_f64(erf, z, 0x1.ce2eaa183d209p-4);
  erf = ag_fma_f64(erf, z, -0x1.812745533f325p-2);
  erf = ag_fma_f64(erf, z, 0x1.20dd750381f57p+0);
  const double small = 1.0 - erf * (double)x;
  return (float)(a < 0.84 ? small : x < 0.0f ? 2.0 - large : large);
}

//@ ag_erfc_f64
double erfc(double);
AG_INLINE double ag_erfc_f64(double x) { return erfc(x); }
)ag"
