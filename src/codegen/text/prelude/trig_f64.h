R"ag(
// With AVX2, angles of float64 are counted in quarter turns in integers, which is exact for all numbers: |x| = 2^e m, and
// 2^(e + 190) 2/pi modulo 2^192, a window of the bits of 2/pi, is multiplied by the 53 bits of m. Otherwise libm is faster.
//@ ag_two_over_pi
// The word k has the 64 bits of 2/pi from the one worth 2^(64 - 32 k) on.
static const uint64_t ag_two_over_pi[39] = {
    0x0000000000000000, 0x00000000517cc1b7, 0x517cc1b727220a94, 0x27220a94fe13abe8, 0xfe13abe8fa9a6ee0,
    0xfa9a6ee06db14acc, 0x6db14acc9e21c820, 0x9e21c820ff28b1d5, 0xff28b1d5ef5de2b0, 0xef5de2b0db92371d,
    0xdb92371d2126e970, 0x2126e97003249775, 0x0324977504e8c90e, 0x04e8c90e7f0ef58e, 0x7f0ef58e5894d39f,
    0x5894d39f74411afa, 0x74411afa975da242, 0x975da24274ce3813, 0x74ce38135a2fbf20, 0x5a2fbf209cc8eb1c,
    0x9cc8eb1cc1a99cfa, 0xc1a99cfa4e422fc5, 0x4e422fc5defc941d, 0xdefc941d8ffc4bff, 0x8ffc4bffef02cc07,
    0xef02cc07f79788c5, 0xf79788c5ad05368f, 0xad05368fb69b3f67, 0xb69b3f6793e584db, 0x93e584dba7a31fb3,
    0xa7a31fb34f2ff516, 0x4f2ff516ba93dd63, 0xba93dd63f5f2f8bd, 0xf5f2f8bd9e839cfb, 0x9e839cfbc5294975,
    0xc529497535fdafd8, 0x35fdafd88fc6ae84, 0x8fc6ae842b019823, 0x2b0198237e3db5d5,
};

//@ ag_window
// 32 bits, from the bit `shift` of the word `high` on, which `low` follows.
AG_INLINE uint64_t ag_window(uint64_t high, uint64_t low, uint64_t shift) {
  return ((high << 32 | low >> 32) >> (32 - shift)) & 0xffffffffu;
}

//@ ag_quarter_turns_f64
// |x| / (pi/2) modulo 4, times 2^126, for |x| >= 0.5: the high and the low 64 bits.
AG_INLINE void ag_quarter_turns_f64(double x, uint64_t* high, uint64_t* low) {
  const uint64_t bits = ag_bits_f64(x) & 0x7fffffffffffffffu;
  const uint64_t exponent = bits >> 52 < 1022u ? 1022u : bits >> 52;
  const uint64_t m1 = (bits >> 32 & 0xfffffu) | 0x100000u;
  const uint64_t m0 = bits & 0xffffffffu;
  const uint64_t first = exponent - 1012u;
  const uint64_t shift = first & 31u;
  const int64_t word = (int64_t)(first >> 5);
  const uint64_t w0 = ag_two_over_pi[word];
  const uint64_t w2 = ag_two_over_pi[word + 2];
  const uint64_t w4 = ag_two_over_pi[word + 4];
  const uint64_t w6 = ag_two_over_pi[word + 6];
  const uint64_t t5 = ag_window(w0 >> 32, w0 << 32, shift);
  const uint64_t t4 = ag_window(w0, w2, shift);
  const uint64_t t3 = ag_window(w2 >> 32, w2 << 32, shift);
  const uint64_t t2 = ag_window(w2, w4, shift);
  const uint64_t t1 = ag_window(w4 >> 32, w4 << 32, shift);
  const uint64_t t0 = ag_window(w4, w6, shift);
  const uint64_t p1 = m0 * t1 + (m0 * t0 >> 32);
  const uint64_t q1 = m1 * t0 + (p1 & 0xffffffffu);
  const uint64_t p2 = m0 * t2 + ((p1 >> 32) + (q1 >> 32));
  const uint64_t q2 = m1 * t1 + (p2 & 0xffffffffu);
  const uint64_t p3 = m0 * t3 + ((p2 >> 32) + (q2 >> 32));
  const uint64_t q3 = m1 * t2 + (p3 & 0xffffffffu);
  const uint64_t p4 = m0 * t4 + ((p3 >> 32) + (q3 >> 32));
  const uint64_t q4 = m1 * t3 + (p4 & 0xffffffffu);
  const uint64_t p5 = m0 * t5 + ((p4 >> 32) + (q4 >> 32));
  const uint64_t q5 = m1 * t4 + p5;
  *high = q5 << 32 | (q4 & 0xffffffffu);
  *low = q3 << 32 | (q2 & 0xffffffffu);
}

//@ ag_angle_f64
// |x| radians are *quarter quarter turns (modulo 4) and the resulting radians, of which there are at most pi/4; *rest is
// what they lack by rounding.
AG_INLINE double ag_angle_f64(double x, uint64_t* quarter, double* rest) {
  uint64_t high;
  uint64_t low;
  ag_quarter_turns_f64(x, &high, &low);
  const double a = __builtin_fabs(x);
  const int small = a <= 0x1.921fb54442d18p-1;
  *quarter = small ? 0 : (high + 0x2000000000000000u) >> 62;
  const uint64_t f1 = high << 2 | low >> 62;
  const uint64_t f0 = low << 2;
  const double d3 = ag_to_f64((int64_t)(f1 >> 32 ^ 0x80000000u)) - 0x1p31;
  const double d2 = ag_to_f64((int64_t)(f1 & 0xffffffffu)) * 0x1p-32;
  const double d1 = ag_to_f64((int64_t)(f0 >> 32));
  const double d0 = ag_to_f64((int64_t)(f0 & 0xffffffffu)) * 0x1p-32;
  const double sum = d3 + d2;
  const double more = ((d3 - sum) + d2) + (d1 + d0) * 0x1p-64;
  const double turns = sum + more;
  const double lost = more - (turns - sum);
  const double angle = turns * 0x1.921fb54442d18p-32;
  const double low_part = ag_fma_f64(turns, 0x1.921fb54442d18p-32, -angle) +
                          (turns * 0x1.1a62633145c07p-86 + lost * 0x1.921fb54442d18p-32);
  *rest = small ? 0.0 : low_part;
  return small ? a : angle;
}

//@ ag_sin_tail_f64
// (sin a - a) / a^3 with z = a^2.
AG_INLINE double ag_sin_tail_f64(double z) {
  double p = 0x1.5e0b05bff20f2p-33;
  p = ag_fma_f64(p, z, -0x1.ae600aca92c64p-26);
  p = ag_fma_f64(p, z, 0x1.71de379654304p-19);
  p = ag_fma_f64(p, z, -0x1.a01a019e83816p-13);
  p = ag_fma_f64(p, z, 0x1.1111111110bb2p-7);
  return ag_fma_f64(p, z, -0x1.5555555555555p-3);
}

//@ ag_cos_tail_f64
// (cos a - 1 + a^2/2) / a^4 with z = a^2.
AG_INLINE double ag_cos_tail_f64(double z) {
  double p = -0x1.907d8f29fe831p-37;
  p = ag_fma_f64(p, z, 0x1.1eeb68cd22f56p-29);
  p = ag_fma_f64(p, z, -0x1.27e4fa17bf139p-22);
  p = ag_fma_f64(p, z, 0x1.a01a019f4e9b4p-16);
  p = ag_fma_f64(p, z, -0x1.6c16c16c16967p-10);
  return ag_fma_f64(p, z, 0x1.5555555555555p-5);
}

//@ ag_sin_quarter_f64
// The sine of `angle` + `rest` + `quarter` quarter turns.
AG_INLINE double ag_sin_quarter_f64(double angle, double rest, uint64_t quarter) {
  const double z = angle * angle;
  const double s = angle + ag_fma_f64(z * angle, ag_sin_tail_f64(z), rest);
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  const double c = w + (((1.0 - w) - half) + ag_fma_f64(z * z, ag_cos_tail_f64(z), -angle * rest));
  const double value = (quarter & 1) != 0 ? c : s;
  return (quarter & 2) != 0 ? -value : value;
}

//@ ag_sin_f64
double sin(double);
AG_INLINE double ag_sin_f64(double x) {
#ifdef __AVX2__
  uint64_t quarter;
  double rest;
  const double angle = ag_angle_f64(x, &quarter, &rest);
  const double sine = ag_sin_quarter_f64(angle, rest, quarter);
  return x - x != 0.0 ? x - x : __builtin_copysign(1.0, x) * sine;
#else
  return sin(x);
#endif
}

//@ ag_cos_f64
double cos(double);
AG_INLINE double ag_cos_f64(double x) {
#ifdef __AVX2__
  uint64_t quarter;
  double rest;
  const double angle = ag_angle_f64(x, &quarter, &rest);
  return x - x != 0.0 ? x - x : ag_sin_quarter_f64(angle, rest, quarter + 1);
#else
  return cos(x);
#endif
}

//@ ag_tan_f64
// A quotient of sine and cosine, corrected by what both lost by rounding.
double tan(double);
AG_INLINE double ag_tan_f64(double x) {
#ifdef __AVX2__
  uint64_t quarter;
  double rest;
  const double angle = ag_angle_f64(x, &quarter, &rest);
  const double z = angle * angle;
  const double more = ag_fma_f64(z * angle, ag_sin_tail_f64(z), rest);
  const double s = angle + more;
  const double s_rest = (angle - s) + more;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  const double less = ((1.0 - w) - half) + ag_fma_f64(z * z, ag_cos_tail_f64(z), -angle * rest);
  const double c = w + less;
  const double c_rest = (w - c) + less;
  const int odd = (quarter & 1) != 0;
  const double above = odd ? -c : s;
  const double above_rest = odd ? -c_rest : s_rest;
  const double below = odd ? s : c;
  const double below_rest = odd ? s_rest : c_rest;
  const double ratio = above / below;
  const double error = ag_fma_f64(-ratio, below, above) + ag_fma_f64(-ratio, below_rest, above_rest);
  const double tangent = ratio + error / below;
  return x - x != 0.0 ? x - x : __builtin_copysign(1.0, x) * tangent;
#else
  return tan(x);
#endif
}
)ag"
