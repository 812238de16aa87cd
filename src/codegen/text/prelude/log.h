R"ag(
// Logarithms: x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), log x = k ln 2 + log(1 + f).
//@ ag_log_sum_f32
// k ln 2 + log(1 + f).
AG_INLINE float ag_log_sum_f32(float k, float f) {
  float p = 0x1.1459acp-4f;
  p = ag_fma_f32(p, f, -0x1.de67cep-4f);
  p = ag_fma_f32(p, f, 0x1.e706e8p-4f);
  p = ag_fma_f32(p, f, -0x1.fc1cf2p-4f);
  p = ag_fma_f32(p, f, 0x1.2335aep-3f);
  p = ag_fma_f32(p, f, -0x1.555c5ep-3f);
  p = ag_fma_f32(p, f, 0x1.99a4cap-3f);
  p = ag_fma_f32(p, f, -0x1.000006p-2f);
  p = ag_fma_f32(p, f, 0x1.555548p-2f);
  const float square = f * f;
  float rest = ag_fma_f32(p * f, square, k * 0x1.7f7d1cp-20f);
  rest = ag_fma_f32(-0.5f, square, rest);
  return ag_fma_f32(k, 0x1.62e4p-1f, f + rest);
}

//@ ag_log_f32
AG_INLINE float ag_log_f32(float x) {
  const float normal = x < 0x1p-126f ? x * 0x1p23f : x;
  const uint32_t bits = ag_bits_f32(normal) - 0x3f3504f3u;
  const int32_t k = ((int32_t)bits >> 23) - (x < 0x1p-126f ? 23 : 0);
  const float f = ag_from_bits_f32((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float result = ag_log_sum_f32((float)k, f);
  result = x < __builtin_inff() ? result : x;
  result = x < 0.0f ? __builtin_nanf("") : result;
  return x == 0.0f ? -__builtin_inff() : result;
}

//@ ag_log1p_f32
// k is that of 1 + x; f = 2^-k x + (2^-k - 1) is rounded once, while 1 + x loses low bits of x.
AG_INLINE float ag_log1p_f32(float x) {
  const float u = 1.0f + x;
  const uint32_t bits = ag_bits_f32(u) - 0x3f3504f3u;
  const int32_t k = (int32_t)bits >> 23;
  const float scale = ag_from_bits_f32((uint32_t)(127 - k) << 23);
  const float near = ag_fma_f32(scale, x, scale - 1.0f);
  const float far = ag_from_bits_f32((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float result = ag_log_sum_f32((float)k, x > 0x1p60f ? far : near);
  result = x < __builtin_inff() ? result : x;
  result = x < -1.0f ? __builtin_nanf("") : result;
  result = x == -1.0f ? -__builtin_inff() : result;
  return x == 0.0f ? x : result;
}

//@ ag_log_tail_f64
// (log(1 + f) - 2s) / s with s = f / (2 + f) and z = s^2.
AG_INLINE double ag_log_tail_f64(double z) {
  double p = 0x1.0faf9ff338351p-3;
  p = ag_fma_f64(p, z, 0x1.0f56e0484c092p-3);
  p = ag_fma_f64(p, z, 0x1.3b20c8ebfdc4ep-3);
  p = ag_fma_f64(p, z, 0x1.745cdeb13f428p-3);
  p = ag_fma_f64(p, z, 0x1.c71c72526fba4p-3);
  p = ag_fma_f64(p, z, 0x1.2492492436b3dp-2);
  p = ag_fma_f64(p, z, 0x1.9999999999d02p-2);
  p = ag_fma_f64(p, z, 0x1.5555555555555p-1);
  return p * z;
}

//@ ag_log_sum_f64
// k ln 2 + log(1 + f). log(1 + f) = f - (f^2/2 - s (f^2/2 + tail)), whose correction to f is small.
AG_INLINE double ag_log_sum_f64(double k, double f) {
  const double s = f / (2.0 + f);
  const double half_square = 0.5 * f * f;
  const double tail = ag_log_tail_f64(s * s);
  const double rest = ag_fma_f64(s, half_square + tail, k * 0x1.ef35793c76730p-45) - half_square;
  return ag_fma_f64(k, 0x1.62e42fefa38p-1, f + rest);
}

//@ ag_log_f64
AG_INLINE double ag_log_f64(double x) {
  const double normal = x < 0x1p-1022 ? x * 0x1p52 : x;
  const uint64_t bits = ag_bits_f64(normal) - 0x3fe6a09e667f3bcdu;
  const uint64_t biased = (bits + 0x4000000000000000u) >> 52;
  const double k = ag_to_f64((int64_t)biased - (x < 0x1p-1022 ? 1024 + 52 : 1024));
  const double f = ag_from_bits_f64((bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  double result = ag_log_sum_f64(k, f);
  result = x < __builtin_inf() ? result : x;
  result = x < 0.0 ? __builtin_nan("") : result;
  return x == 0.0 ? -__builtin_inf() : result;
}

//@ ag_log1p_f64
AG_INLINE double ag_log1p_f64(double x) {
  const double u = 1.0 + x;
  const uint64_t bits = ag_bits_f64(u) - 0x3fe6a09e667f3bcdu;
  const uint64_t biased = (bits + 0x4000000000000000u) >> 52;
  const double scale = ag_from_bits_f64((1024 + 1023 - biased) << 52);
  const double near = ag_fma_f64(scale, x, scale - 1.0);
  const double far = ag_from_bits_f64((bits & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
  double result = ag_log_sum_f64(ag_to_f64((int64_t)biased - 1024), x > 0x1p120 ? far : near);
  result = x < __builtin_inf() ? result : x;
  result = x < -1.0 ? __builtin_nan("") : result;
  result = x == -1.0 ? -__builtin_inf() : result;
  return x == 0.0 ? x : result;
}

//@ ag_log2_f32
AG_INLINE float ag_log2_f32(float x) { return (float)(ag_log_f64((double)x) * 0x1.71547652b82fep+0); }

//@ ag_log10_f32
AG_INLINE float ag_log10_f32(float x) { return (float)(ag_log_f64((double)x) * 0x1.bcb7b1526e50ep-2); }
)ag"
