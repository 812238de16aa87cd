R"ag(
// The contract of random numbers: Philox4x32-10 keyed by a seed, one counter for four words.
//@ ag_philox_round
AG_INLINE void ag_philox_round(uint32_t c[4], uint32_t key0, uint32_t key1) {
  const uint64_t a = (uint64_t)0xD2511F53u * c[0];
  const uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
  c[0] = (uint32_t)(b >> 32) ^ c[1] ^ key0;
  c[1] = (uint32_t)b;
  c[2] = (uint32_t)(a >> 32) ^ c[3] ^ key1;
  c[3] = (uint32_t)a;
}

//@ ag_philox_words
AG_INLINE void ag_philox_words(uint32_t* out4, uint64_t seed, uint64_t counter) {
  uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
  const uint32_t k0 = (uint32_t)seed;
  const uint32_t k1 = (uint32_t)(seed >> 32);
  const uint32_t d0 = 0x9E3779B9u;
  const uint32_t d1 = 0xBB67AE85u;
  ag_philox_round(c, k0, k1);
  ag_philox_round(c, k0 + d0, k1 + d1);
  ag_philox_round(c, k0 + 2 * d0, k1 + 2 * d1);
  ag_philox_round(c, k0 + 3 * d0, k1 + 3 * d1);
  ag_philox_round(c, k0 + 4 * d0, k1 + 4 * d1);
  ag_philox_round(c, k0 + 5 * d0, k1 + 5 * d1);
  ag_philox_round(c, k0 + 6 * d0, k1 + 6 * d1);
  ag_philox_round(c, k0 + 7 * d0, k1 + 7 * d1);
  ag_philox_round(c, k0 + 8 * d0, k1 + 8 * d1);
  ag_philox_round(c, k0 + 9 * d0, k1 + 9 * d1);
  out4[0] = c[0];
  out4[1] = c[1];
  out4[2] = c[2];
  out4[3] = c[3];
}

//@ ag_philox_row
// The words of elements first_element ... first_element + n - 1 of a random op that begins at first_counter and takes
// one word per element.
static inline void ag_philox_row(uint32_t* restrict out, uint64_t seed, uint64_t first_counter, int64_t first_element,
                                 int64_t n) {
  uint64_t counter = first_counter + (uint64_t)first_element / 4;
  uint32_t words[4];
  int64_t done = 0;
  if (first_element % 4 != 0) {
    ag_philox_words(words, seed, counter++);
    for (int64_t lane = first_element % 4; lane < 4 && done < n; ++lane) out[done++] = words[lane];
  }
  const int64_t whole = (n - done) / 4;
  for (int64_t i = 0; i < whole; ++i) ag_philox_words(out + done + 4 * i, seed, counter + (uint64_t)i);
  done += 4 * whole;
  if (done < n) ag_philox_words(words, seed, counter + (uint64_t)whole);
  for (int64_t lane = 0; done < n; ++lane) out[done++] = words[lane];
}

//@ ag_philox_row_64
// The same for ops that take two words per element: the low one first.
static inline void ag_philox_row_64(uint64_t* restrict out, uint64_t seed, uint64_t first_counter,
                                    int64_t first_element, int64_t n) {
  for (int64_t done = 0; done < n;) {
    uint32_t words[256];
    const int64_t left = n - done;
    const int64_t now = left < 128 ? left : 128;
    ag_philox_row(words, seed, first_counter, 2 * (first_element + done), 2 * now);
    for (int64_t i = 0; i < now; ++i) out[done + i] = words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
    done += now;
  }
}

//@ ag_bits_row_f32
AG_INLINE void ag_bits_row_f32(uint32_t* out, uint64_t seed, uint64_t first_counter, int64_t first_element, int64_t n) {
  ag_philox_row(out, seed, first_counter, first_element, n);
}
//@ ag_bits_row_f64
AG_INLINE void ag_bits_row_f64(uint64_t* out, uint64_t seed, uint64_t first_counter, int64_t first_element, int64_t n) {
  ag_philox_row_64(out, seed, first_counter, first_element, n);
}

//@ ag_whole_f64
// (double)bits for bits < 2^53, without the conversion that vectors lack before AVX-512.
AG_INLINE double ag_whole_f64(uint64_t bits) {
  const double high = ag_from_bits_f64(bits >> 32 | 0x4530000000000000u) - 0x1.00000001p84;
  return high + ag_from_bits_f64((bits & 0xffffffffu) | 0x4330000000000000u);
}

//@ ag_unit_f32
// Uniform in [0, 1), a multiple of 2^-digits.
AG_INLINE float ag_unit_f32(uint32_t bits, int digits) {
  return (float)(int32_t)(bits >> (32 - digits)) * ag_pow2_f32(-digits);
}
//@ ag_unit_f64
AG_INLINE double ag_unit_f64(uint64_t bits, int digits) {
  return ag_whole_f64(bits >> (64 - digits)) * ag_pow2_f64(-digits);
}

//@ ag_open_unit_f32
// Uniform in (0, 1).
AG_INLINE float ag_open_unit_f32(uint32_t bits) { return ((float)(int32_t)(bits >> 9) + 0.5f) * 0x1p-23f; }
//@ ag_open_unit_f64
AG_INLINE double ag_open_unit_f64(uint64_t bits) { return (ag_whole_f64(bits >> 12) + 0.5) * 0x1p-52; }

//@ ag_chance_f32
// True with probability p.
AG_INLINE _Bool ag_chance_f32(uint32_t bits, double p) { return ag_to_f64((int64_t)bits) * 0x1p-32 < p; }
//@ ag_chance_f64
AG_INLINE _Bool ag_chance_f64(uint64_t bits, double p) { return ag_whole_f64(bits >> 11) * 0x1p-53 < p; }

//@ ag_below_32
// An integer in [0, range), range <= 2^32.
AG_INLINE uint64_t ag_below_32(uint32_t bits, uint64_t range) { return bits * range >> 32; }
//@ ag_below_64
// An integer in [0, range); a range of 0 stands for 2^64.
AG_INLINE uint64_t ag_below_64(uint64_t bits, uint64_t range) {
  return range == 0 ? bits : (uint64_t)((unsigned __int128)bits * range >> 64);
}

//@ ag_exponential_$t for f32 f64
AG_INLINE $T ag_exponential_$t($T open, $T lambda) { return -ag_log_$t(open) / lambda; }
//@ ag_geometric_$t for f32 f64
AG_INLINE $T ag_geometric_$t($T open, $T p) { return ag_ceil_$t(ag_log_$t(open) / ag_log1p_$t(-p)); }

//@ ag_cauchy_f32
// The tangent of 2 open - 1 quarter turns.
AG_INLINE float ag_cauchy_f32(float open, float median, float sigma) {
  const double turns = 2.0 * (double)open - 1.0;
  const double shifted = turns + AG_SHIFT_F64;
  const double angle = (turns - (shifted - AG_SHIFT_F64)) * 0x1.921fb54442d18p+0;
  return median + sigma * (float)ag_tan_quarter(angle, (uint32_t)ag_bits_f64(shifted));
}
//@ ag_cauchy_f64
AG_INLINE double ag_cauchy_f64(double open, double median, double sigma) {
  return median + sigma * ag_tan_f64(0x1.921fb54442d18p+1 * (open - 0.5));
}

//@ ag_normal_f32
// Standard normal, of the even (odd = 0) or odd element of a pair with these bits.
AG_INLINE float ag_normal_f32(uint32_t even_bits, uint32_t odd_bits, int odd) {
  const float radius = __builtin_sqrtf(-2.0f * ag_log_f32(ag_open_unit_f32(even_bits)));
  uint32_t quarter;
  const float angle = (float)ag_angle(0x1.921fb6p+2f * ag_unit_f32(odd_bits, 24), &quarter);
  return radius * ag_sin_quarter_f32(angle, quarter + (odd ? 0 : 1));
}
//@ ag_normal_f64
AG_INLINE double ag_normal_f64(uint64_t even_bits, uint64_t odd_bits, int odd) {
  const double radius = __builtin_sqrt(-2.0 * ag_log_f64(ag_open_unit_f64(even_bits)));
  const double angle = 0x1.921fb54442d18p+2 * ag_unit_f64(odd_bits, 53);
  return radius * (odd ? ag_sin_f64(angle) : ag_cos_f64(angle));
}

//@ ag_normal_pair_f32
AG_INLINE void ag_normal_pair_f32(float* out2, uint32_t even_bits, uint32_t odd_bits) {
  out2[0] = ag_normal_f32(even_bits, odd_bits, 0);
  out2[1] = ag_normal_f32(even_bits, odd_bits, 1);
}
//@ ag_normal_pair_f64
AG_INLINE void ag_normal_pair_f64(double* out2, uint64_t even_bits, uint64_t odd_bits) {
  out2[0] = ag_normal_f64(even_bits, odd_bits, 0);
  out2[1] = ag_normal_f64(even_bits, odd_bits, 1);
}

//@ ag_normal_row_$t for f32 f64
// Standard normals for elements first_element ... first_element + n - 1, whose pairs share radius and angle.
static inline void ag_normal_row_$t($T* restrict out, uint64_t seed, uint64_t first_counter, int64_t first_element,
                                    int64_t n) {
  for (int64_t done = 0; done < n;) {
    $U bits[256];
    $T values[256];
    const int64_t skipped = (first_element + done) % 2;
    const int64_t left = n - done + skipped;
    const int64_t now = left < 256 ? left : 256;
    const int64_t pairs = (now + 1) / 2;
    ag_bits_row_$t(bits, seed, first_counter, first_element + done - skipped, 2 * pairs);
    for (int64_t i = 0; i < pairs; ++i) ag_normal_pair_$t(values + 2 * i, bits[2 * i], bits[2 * i + 1]);
    for (int64_t i = skipped; i < now; ++i) out[done++] = values[i];
  }
}

//@ ag_log_normal_$t for f32 f64
AG_INLINE $T ag_log_normal_$t($T normal, $T mean, $T deviation) { return ag_exp_$t(mean + deviation * normal); }
)ag"
