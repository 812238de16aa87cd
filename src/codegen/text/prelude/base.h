R"ag(
//@ int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
//@ AG_INLINE
#define AG_INLINE static inline __attribute__((always_inline))

//@ ag_fma_$t for f32 f64
// One rounding where the processor has it; callers are accurate enough with two.
AG_INLINE $T ag_fma_$t($T a, $T b, $T c) {
#ifdef __FMA__
  return __builtin_fma$B(a, b, c);
#else
  return a * b + c;
#endif
}

//@ ag_bits_$t for f32 f64
AG_INLINE $U ag_bits_$t($T x) {
  $U bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

//@ ag_from_bits_$t for f32 f64
AG_INLINE $T ag_from_bits_$t($U bits) {
  $T x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

//@ ag_pow2_f32
// 2^n for -126 <= n <= 127.
AG_INLINE float ag_pow2_f32(int32_t n) { return ag_from_bits_f32((uint32_t)(n + 127) << 23); }

//@ ag_pow2_f64
// 2^n for -1022 <= n <= 1023.
AG_INLINE double ag_pow2_f64(int64_t n) { return ag_from_bits_f64((uint64_t)(n + 1023) << 52); }

//@ AG_SHIFT_F32
// Adding it rounds |x| < 2^22 to an integer, ties to even, and leaves that integer n in the low bits of the sum, which
// is then called `shifted`.
#define AG_SHIFT_F32 0x1.8p23f
//@ AG_SHIFT_F64
// The same for |x| < 2^51.
#define AG_SHIFT_F64 0x1.8p52

//@ ag_shifted_pow2_f32
// 2^n, -126 <= n <= 127. What else is in the bits of `shifted` leaves them.
AG_INLINE float ag_shifted_pow2_f32(float shifted) {
  return ag_from_bits_f32((ag_bits_f32(shifted) << 23) + 0x3f800000u);
}
//@ ag_shifted_pow2_f64
// 2^n, -1022 <= n <= 1023.
AG_INLINE double ag_shifted_pow2_f64(double shifted) {
  return ag_from_bits_f64((ag_bits_f64(shifted) << 52) + 0x3ff0000000000000u);
}

//@ ag_times_shifted_pow2_f32
// x * 2^n, rounded once: by two factors, since 2^n may be no normal number.
AG_INLINE float ag_times_shifted_pow2_f32(float x, float shifted) {
  const uint32_t n = ag_bits_f32(shifted);
  const uint32_t half = n >> 1;
  return x * ag_from_bits_f32((half << 23) + 0x3f800000u) * ag_from_bits_f32(((n - half) << 23) + 0x3f800000u);
}
//@ ag_times_shifted_pow2_f64
AG_INLINE double ag_times_shifted_pow2_f64(double x, double shifted) {
  const uint64_t n = ag_bits_f64(shifted);
  const uint64_t half = n >> 1;
  const double factor = ag_from_bits_f64((half << 52) + 0x3ff0000000000000u);
  return x * factor * ag_from_bits_f64(((n - half) << 52) + 0x3ff0000000000000u);
}

//@ ag_to_f64
// (double)n for |n| < 2^51, without the conversion that vectors lack before AVX-512.
AG_INLINE double ag_to_f64(int64_t n) {
  return ag_from_bits_f64((uint64_t)n + 0x4338000000000000u) - AG_SHIFT_F64;
}
)ag"
