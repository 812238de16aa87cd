R"ag(
// Functions of the prelude for which CUDA has better means. Those of its library have errors of at most 4 units in the
// last place, as LibTorch's kernels have, which call them too.
//@ ag_exp_$t for f32 f64
AG_INLINE $T ag_exp_$t($T x) { return exp$B(x); }
//@ ag_exp2_$t for f32 f64
AG_INLINE $T ag_exp2_$t($T x) { return exp2$B(x); }
//@ ag_expm1_$t for f32 f64
AG_INLINE $T ag_expm1_$t($T x) { return expm1$B(x); }
//@ ag_log_$t for f32 f64
AG_INLINE $T ag_log_$t($T x) { return log$B(x); }
//@ ag_log1p_$t for f32 f64
AG_INLINE $T ag_log1p_$t($T x) { return log1p$B(x); }
//@ ag_log2_$t for f32 f64
AG_INLINE $T ag_log2_$t($T x) { return log2$B(x); }
//@ ag_log10_$t for f32 f64
AG_INLINE $T ag_log10_$t($T x) { return log10$B(x); }
//@ ag_tanh_$t for f32 f64
AG_INLINE $T ag_tanh_$t($T x) { return tanh$B(x); }
//@ ag_sinh_$t for f32 f64
AG_INLINE $T ag_sinh_$t($T x) { return sinh$B(x); }
//@ ag_cosh_$t for f32 f64
AG_INLINE $T ag_cosh_$t($T x) { return cosh$B(x); }
//@ ag_asinh_$t for f32 f64
AG_INLINE $T ag_asinh_$t($T x) { return asinh$B(x); }
//@ ag_acosh_$t for f32 f64
AG_INLINE $T ag_acosh_$t($T x) { return acosh$B(x); }
//@ ag_atanh_$t for f32 f64
AG_INLINE $T ag_atanh_$t($T x) { return atanh$B(x); }
//@ ag_sin_$t for f32 f64
AG_INLINE $T ag_sin_$t($T x) { return sin$B(x); }
//@ ag_cos_$t for f32 f64
AG_INLINE $T ag_cos_$t($T x) { return cos$B(x); }
//@ ag_tan_$t for f32 f64
AG_INLINE $T ag_tan_$t($T x) { return tan$B(x); }
//@ ag_asin_$t for f32 f64
AG_INLINE $T ag_asin_$t($T x) { return asin$B(x); }
//@ ag_acos_$t for f32 f64
AG_INLINE $T ag_acos_$t($T x) { return acos$B(x); }
//@ ag_atan_$t for f32 f64
AG_INLINE $T ag_atan_$t($T x) { return atan$B(x); }
//@ ag_erf_$t for f32 f64
AG_INLINE $T ag_erf_$t($T x) { return erf$B(x); }
//@ ag_erfc_$t for f32 f64
AG_INLINE $T ag_erfc_$t($T x) { return erfc$B(x); }
//@ ag_sigmoid_f32
// 1 / (1 + 2^t 2^rest), where t + rest = -x log2(e) and t is rounded down: rest is not negative but for what the last bits
// of log2(e) add, which matter only where it is not, and 0 where t is infinite. A quarter of the divisor is neither
// subnormal, which the device's division does not take, nor is its reciprocal where the result is.
AG_INLINE float ag_sigmoid_f32(float x) {
  const float t = AG_MULTIPLY_DOWN(x, -0x1.715476p+0f);
  const float rest = AG_SATURATED_FMA(x, -0x1.4ae0cp-26f, __builtin_fmaf(x, -0x1.715476p+0f, -t));
  const float quarter = __builtin_fmaf(rest, 0x1.62e43p-3f, 0.25f);
  return 0.25f * AG_RECIPROCAL(__builtin_fmaf(AG_EXP2(t), quarter, 0.25f));
}
//@ ag_sigmoid_f64
AG_INLINE double ag_sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
//@ ag_rsqrt_$t for f32 f64
AG_INLINE $T ag_rsqrt_$t($T x) { return rsqrt$B(x); }
//@ ag_pow_$t for f32 f64
AG_INLINE $T ag_pow_$t($T x, $T y) { return pow$B(x, y); }
//@ ag_atan2_$t for f32 f64
AG_INLINE $T ag_atan2_$t($T y, $T x) { return atan2$B(y, x); }
//@ ag_hypot_$t for f32 f64
AG_INLINE $T ag_hypot_$t($T x, $T y) { return hypot$B(x, y); }
//@ ag_philox_round
// ptxas adds 0 to the high half of a product of 64 bits that is written as such.
AG_INLINE void ag_philox_round(uint32_t c[4], uint32_t key0, uint32_t key1) {
  uint32_t a, b, low_a, low_b;
  AG_MULTIPLY_WIDE(low_a, a, 0xD2511F53u, c[0]);
  AG_MULTIPLY_WIDE(low_b, b, 0xCD9E8D57u, c[2]);
  c[0] = b ^ c[1] ^ key0;
  c[1] = low_b;
  c[2] = a ^ c[3] ^ key1;
  c[3] = low_a;
}
//@ ag_chance_f32
// In integers, since most GPUs are slow at f64; p is mostly a constant.
AG_INLINE _Bool ag_chance_f32(uint32_t bits, double p) {
  return p > 0.0 && (uint64_t)bits < (uint64_t)ceil((p < 1.0 ? p : 1.0) * 0x1p32);
}
//@ ag_floor_$t for f32 f64
AG_INLINE $T ag_floor_$t($T x) { return floor$B(x); }
//@ ag_ceil_$t for f32 f64
AG_INLINE $T ag_ceil_$t($T x) { return ceil$B(x); }
//@ ag_trunc_$t for f32 f64
AG_INLINE $T ag_trunc_$t($T x) { return trunc$B(x); }
//@ ag_round_even_$t for f32 f64
AG_INLINE $T ag_round_even_$t($T x) { return rint$B(x); }
//@ ag_below_64
AG_INLINE uint64_t ag_below_64(uint64_t bits, uint64_t range) { return range == 0 ? bits : __umul64hi(bits, range); }

//@ ag_f32_to_bf16
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
AG_INLINE uint16_t ag_f32_to_bf16(float x) {
  uint16_t result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
#else
AG_INLINE uint16_t ag_f32_to_bf16(float x) {
  const uint32_t bits = ag_bits_f32(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7fc0u : rounded);
}
#endif
//@ ag_f16_to_f32
#ifdef __CUDA_ARCH__
AG_INLINE float ag_f16_to_f32(uint16_t x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}
#else
AG_INLINE float ag_f16_to_f32(uint16_t x) { return AG_F16_TO_F32(x); }
#endif
//@ ag_f32_to_f16
#ifdef __CUDA_ARCH__
AG_INLINE uint16_t ag_f32_to_f16(float x) {
  uint16_t result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
#else
AG_INLINE uint16_t ag_f32_to_f16(float x) { return AG_F32_TO_F16(x); }
#endif
)ag"
