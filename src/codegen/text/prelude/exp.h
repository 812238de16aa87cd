R"ag(
// Exponentials: x = n ln 2 + r with |r| <= ln 2 / 2, e^x = 2^n e^r, e^r = 1 + r + r^2 q(r). The upper part of ln 2
// has so few bits that its product with n is exact, and so is the difference, high; r = high - low is rounded.
//@ ag_exp_tail_f32
// (e^r - 1 - r) / r^2.
AG_INLINE float ag_exp_tail_f32(float r) {
  float q = 0x1.6a1f12p-10f;
  q = ag_fma_f32(q, r, 0x1.123cccp-7f);
  q = ag_fma_f32(q, r, 0x1.555904p-5f);
  q = ag_fma_f32(q, r, 0x1.55548ep-3f);
  return ag_fma_f32(q, r, 0x1.fffffcp-2f);
}

//@ ag_exp_shifted_f32
AG_INLINE float ag_exp_shifted_f32(float x) { return ag_fma_f32(x, 0x1.715476p+0f, AG_SHIFT_F32); }

//@ ag_exp_rest_f32
// e^(x - n ln 2) - 1.
AG_INLINE float ag_exp_rest_f32(float x, float n) {
  const float high = ag_fma_f32(n, -0x1.62e4p-1f, x);
  const float low = n * 0x1.7f7d1cp-20f;
  const float r = high - low;
  return ag_fma_f32(ag_exp_tail_f32(r), r * r, -low) + high;
}

//@ ag_exp_normal_f32
// e^x where x and the result are known to be of moderate size: |x| <= 87.
AG_INLINE float ag_exp_normal_f32(float x) {
  const float shifted = ag_exp_shifted_f32(x);
  const float rest = ag_exp_rest_f32(x, shifted - AG_SHIFT_F32);
  return (1.0f + rest) * ag_shifted_pow2_f32(shifted);
}

//@ ag_exp_f32
AG_INLINE float ag_exp_f32(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const float shifted = ag_exp_shifted_f32(x);
  const float rest = ag_exp_rest_f32(x, shifted - AG_SHIFT_F32);
  return ag_times_shifted_pow2_f32(1.0f + rest, shifted);
}

//@ ag_exp2_f32
AG_INLINE float ag_exp2_f32(float x) {
  x = x < -151.0f ? -151.0f : x;
  x = x > 129.0f ? 129.0f : x;
  const float shifted = x + AG_SHIFT_F32;
  const float r = x - (shifted - AG_SHIFT_F32);
  float p = 0x1.4712bep-13f;
  p = ag_fma_f32(p, r, 0x1.5f7688p-10f);
  p = ag_fma_f32(p, r, 0x1.3b2700p-7f);
  p = ag_fma_f32(p, r, 0x1.c6ae6ap-5f);
  p = ag_fma_f32(p, r, 0x1.ebfbe2p-3f);
  p = ag_fma_f32(p, r, 0x1.62e432p-1f);
  return ag_times_shifted_pow2_f32(ag_fma_f32(p, r, 1.0f), shifted);
}

//@ ag_expm1_f32
// 2^n (1 + r + r^2 q) - 1, summed so that what cancels is exact, and halved, so that 2^n is finite.
AG_INLINE float ag_expm1_f32(float x) {
  float c = x < -20.0f ? -20.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = ag_exp_shifted_f32(c);
  const float n = shifted - AG_SHIFT_F32;
  const float high = ag_fma_f32(n, -0x1.62e4p-1f, c);
  const float low = n * 0x1.7f7d1cp-20f;
  const float r = high - low;
  const float half = ag_shifted_pow2_f32(shifted - 1.0f);
  const float sum = ag_fma_f32(half, high, half - 0.5f);
  const float rest = ag_fma_f32(ag_exp_tail_f32(r), r * r, -low);
  const float result = 2.0f * ag_fma_f32(half, rest, sum);
  return __builtin_fabsf(x) < 0x1p-25f ? x : result;
}

//@ ag_sigmoid_f32
// With e = e^-|x| = 2^n (1 + rest) it is 1 / (1 + e) or, below zero, e / (1 + e). What is lost by rounding 1 + rest
// and 1 + e comes back in the last step.
AG_INLINE float ag_sigmoid_f32(float x) {
  float a = -__builtin_fabsf(x);
  a = a < -104.0f ? -104.0f : a;
  const float shifted = ag_exp_shifted_f32(a);
  const float rest = ag_exp_rest_f32(a, shifted - AG_SHIFT_F32);
  const float shifted_e = shifted < AG_SHIFT_F32 - 60 ? AG_SHIFT_F32 - 60 : shifted;
  const float e = (1.0f + rest) * ag_shifted_pow2_f32(shifted_e);
  const float sum = 1.0f + e;
  const float lost = e - (sum - 1.0f);
  const float reciprocal = 1.0f / sum;
  const float correction = ag_fma_f32(-lost, reciprocal, x < 0.0f ? rest : 0.0f);
  const float result = ag_fma_f32(reciprocal, correction, reciprocal);
  return ag_times_shifted_pow2_f32(result, x < 0.0f ? shifted : AG_SHIFT_F32);
}

//@ ag_exp_tail_f64
AG_INLINE double ag_exp_tail_f64(double r) {
  double q = 0x1.1e3cbeb04cc20p-29;
  q = ag_fma_f64(q, r, 0x1.af6c60c8a8011p-26);
  q = ag_fma_f64(q, r, 0x1.27e5b507102f3p-22);
  q = ag_fma_f64(q, r, 0x1.71ddefdcc2e56p-19);
  q = ag_fma_f64(q, r, 0x1.a01a0135f05eep-16);
  q = ag_fma_f64(q, r, 0x1.a01a01b398e0dp-13);
  q = ag_fma_f64(q, r, 0x1.6c16c16c307b7p-10);
  q = ag_fma_f64(q, r, 0x1.111111110ec1ap-7);
  q = ag_fma_f64(q, r, 0x1.5555555555502p-5);
  q = ag_fma_f64(q, r, 0x1.555555555555bp-3);
  return ag_fma_f64(q, r, 0.5);
}

//@ ag_exp_shifted_f64
AG_INLINE double ag_exp_shifted_f64(double x) { return ag_fma_f64(x, 0x1.71547652b82fep+0, AG_SHIFT_F64); }

//@ ag_exp_rest_f64
AG_INLINE double ag_exp_rest_f64(double x, double n) {
  const double high = ag_fma_f64(n, -0x1.62e42fefa38p-1, x);
  const double low = n * 0x1.ef35793c76730p-45;
  const double r = high - low;
  return ag_fma_f64(ag_exp_tail_f64(r), r * r, -low) + high;
}

//@ ag_exp_f64
AG_INLINE double ag_exp_f64(double x) {
  x = x < -746.0 ? -746.0 : x;
  x = x > 710.0 ? 710.0 : x;
  const double shifted = ag_exp_shifted_f64(x);
  const double rest = ag_exp_rest_f64(x, shifted - AG_SHIFT_F64);
  return ag_times_shifted_pow2_f64(1.0 + rest, shifted);
}

//@ ag_expm1_f64
AG_INLINE double ag_expm1_f64(double x) {
  double c = x < -40.0 ? -40.0 : x;
  c = c > 710.0 ? 710.0 : c;
  const double shifted = ag_exp_shifted_f64(c);
  const double n = shifted - AG_SHIFT_F64;
  const double high = ag_fma_f64(n, -0x1.62e42fefa38p-1, c);
  const double low = n * 0x1.ef35793c76730p-45;
  const double r = high - low;
  const double half = ag_shifted_pow2_f64(shifted - 1.0);
  const double sum = ag_fma_f64(half, high, half - 0.5);
  const double rest = ag_fma_f64(ag_exp_tail_f64(r), r * r, -low);
  const double result = 2.0 * ag_fma_f64(half, rest, sum);
  return __builtin_fabs(x) < 0x1p-54 ? x : result;
}

//@ ag_sigmoid_f64
AG_INLINE double ag_sigmoid_f64(double x) {
  double a = -__builtin_fabs(x);
  a = a < -746.0 ? -746.0 : a;
  const double shifted = ag_exp_shifted_f64(a);
  const double rest = ag_exp_rest_f64(a, shifted - AG_SHIFT_F64);
  const double shifted_e = shifted < AG_SHIFT_F64 - 60 ? AG_SHIFT_F64 - 60 : shifted;
  const double e = (1.0 + rest) * ag_shifted_pow2_f64(shifted_e);
  const double sum = 1.0 + e;
  const double lost = e - (sum - 1.0);
  const double reciprocal = 1.0 / sum;
  const double correction = ag_fma_f64(-lost, reciprocal, x < 0.0 ? rest : 0.0);
  const double result = ag_fma_f64(reciprocal, correction, reciprocal);
  return ag_times_shifted_pow2_f64(result, x < 0.0 ? shifted : AG_SHIFT_F64);
}
)ag"
