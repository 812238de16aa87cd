R"ag(
// Angles are counted in quarter turns. The product of x and 2/pi is needed modulo 4 only, so where x is a multiple of
// 2^k, bits of 2/pi worth 2^(2-k) and more do not matter: there are four ranges of x, each with other bits of 2/pi.
// These come in three parts; the products of the first two with the 24 bits of x are exact.
//@ ag_angle
// x radians are *quarter quarter turns (modulo 4) and the resulting radians, of which there are at most pi/4.
AG_INLINE double ag_angle(float x, uint32_t* quarter) {
  const float a = __builtin_fabsf(x);
  const int r0 = a < 0x1p51f;
  const int r1 = a < 0x1p79f;
  const int r2 = a < 0x1p107f;
  const double d = x;
  const double t1 = d * (r0   ? 0x1.45f306cp-1
                         : r1 ? 0x1.727220ap-27
                         : r2 ? 0x1.29fc274p-56
                              : 0x1.7d1f534p-84);
  const double t2 = d * (r0   ? 0x1.c9c882ap-29
                         : r1 ? 0x1.29fc275p-56
                         : r2 ? 0x1.7d1f534p-84
                              : 0x1.bb81b6cp-113);
  const double t3 = d * (r0   ? 0x1.4fe13abe8fa9ap-59
                         : r1 ? 0x1.f47d4d377036ep-86
                         : r2 ? 0x1.bb81b6c52b328p-113
                              : 0x1.4acc9e21c8210p-143);
  const double rest = t1 - ((t1 + 4 * AG_SHIFT_F64) - 4 * AG_SHIFT_F64);
  const double shifted = (rest + t2) + AG_SHIFT_F64;
  *quarter = (uint32_t)ag_bits_f64(shifted);
  return (((rest - (shifted - AG_SHIFT_F64)) + t2) + t3) * 0x1.921fb54442d18p+0;
}

//@ ag_sin_quarter_f32
// The sine of `angle` + `quarter` quarter turns.
AG_INLINE float ag_sin_quarter_f32(float angle, uint32_t quarter) {
  const float z = angle * angle;
  float s = 0x1.6ccf60p-19f;
  s = ag_fma_f32(s, z, -0x1.a00f74p-13f);
  s = ag_fma_f32(s, z, 0x1.111108p-7f);
  s = ag_fma_f32(s, z, -0x1.555556p-3f);
  s = ag_fma_f32(s, z * angle, angle);
  float c = 0x1.99e850p-16f;
  c = ag_fma_f32(c, z, -0x1.6c0c28p-10f);
  c = ag_fma_f32(c, z, 0x1.55554ap-5f);
  c = ag_fma_f32(c, z * z, ag_fma_f32(-0.5f, z, 1.0f));
  const float value = (quarter & 1) != 0 ? c : s;
  return (quarter & 2) != 0 ? -value : value;
}

//@ ag_sin_f32
AG_INLINE float ag_sin_f32(float x) {
  uint32_t quarter;
  const float angle = (float)ag_angle(x, &quarter);
  return x == 0.0f ? x : ag_sin_quarter_f32(angle, quarter);
}

//@ ag_cos_f32
AG_INLINE float ag_cos_f32(float x) {
  uint32_t quarter;
  const float angle = (float)ag_angle(x, &quarter);
  return ag_sin_quarter_f32(angle, quarter + 1);
}

//@ ag_tan_quarter
// The tangent of `angle` + `quarter` quarter turns, to the accuracy of float32, in float64.
AG_INLINE double ag_tan_quarter(double angle, uint32_t quarter) {
  const double z = angle * angle;
  double s = 0x1.6ccf5f170ffa3p-19;
  s = ag_fma_f64(s, z, -0x1.a00f746c64d8fp-13);
  s = ag_fma_f64(s, z, 0x1.1111085d274c4p-7);
  s = ag_fma_f64(s, z, -0x1.5555554c5fc9dp-3);
  s = ag_fma_f64(s, z * angle, angle);
  double c = -0x1.241ca5ad25fe5p-22;
  c = ag_fma_f64(c, z, 0x1.a010d5406658cp-16);
  c = ag_fma_f64(c, z, -0x1.6c16b81b72af8p-10);
  c = ag_fma_f64(c, z, 0x1.5555554ecbbbfp-5);
  c = ag_fma_f64(c, z * z, ag_fma_f64(-0.5, z, 1.0));
  const int odd = (quarter & 1) != 0;
  return (odd ? -c : s) / (odd ? s : c);
}

//@ ag_tan_f32
AG_INLINE float ag_tan_f32(float x) {
  uint32_t quarter;
  const double angle = ag_angle(x, &quarter);
  return x == 0.0f ? x : (float)ag_tan_quarter(angle, quarter);
}

//@ ag_atan_ratio
// The angle of the point (x, y), to the accuracy of float32, in float64.
AG_INLINE double ag_atan_ratio(double y, double x) {
  const double ax = __builtin_fabs(x);
  const double ay = __builtin_fabs(y);
  const double large = ax > ay ? ax : ay;
  const double small = ax > ay ? ay : ax;
  const double ratio = large == 0.0 ? 0.0 : small == large ? 1.0 : small / large;
  const double z = ratio * ratio;
  double p = -0x1.6dedc7298e812p-11;
  p = ag_fma_f64(p, z, 0x1.42da393a5df11p-8);
  p = ag_fma_f64(p, z, -0x1.0b0ca6f475b8fp-6);
  p = ag_fma_f64(p, z, 0x1.1a6d04ec69b50p-5);
  p = ag_fma_f64(p, z, -0x1.be982aaa7cae2p-5);
  p = ag_fma_f64(p, z, 0x1.2958b4266a3efp-4);
  p = ag_fma_f64(p, z, -0x1.700b274ebefc0p-4);
  p = ag_fma_f64(p, z, 0x1.c66e4d955d951p-4);
  p = ag_fma_f64(p, z, -0x1.248a2cc117cd6p-3);
  p = ag_fma_f64(p, z, 0x1.999937f3e0ba9p-3);
  p = ag_fma_f64(p, z, -0x1.55555487458eap-2);
  double angle = ag_fma_f64(p, z * ratio, ratio);
  angle = ay > ax ? 0x1.921fb54442d18p+0 - angle : angle;
  angle = __builtin_copysign(1.0, x) < 0.0 ? 0x1.921fb54442d18p+1 - angle : angle;
  const double result = __builtin_copysign(angle, y);
  return x != x || y != y ? x + y : result;
}

//@ ag_atan2_f32
AG_INLINE float ag_atan2_f32(float y, float x) { return (float)ag_atan_ratio((double)y, (double)x); }

//@ ag_atan_f32
AG_INLINE float ag_atan_f32(float x) { return (float)ag_atan_ratio((double)x, 1.0); }

//@ ag_asin_f32
AG_INLINE float ag_asin_f32(float x) {
  const double d = x;
  return (float)ag_atan_ratio(d, __builtin_sqrt((1.0 - d) * (1.0 + d)));
}

//@ ag_acos_f32
AG_INLINE float ag_acos_f32(float x) {
  const double d = x;
  return (float)ag_atan_ratio(__builtin_sqrt((1.0 - d) * (1.0 + d)), d);
}

//@ ag_asin_f64
double asin(double);
AG_INLINE double ag_asin_f64(double x) { return asin(x); }
//@ ag_acos_f64
double acos(double);
AG_INLINE double ag_acos_f64(double x) { return acos(x); }
//@ ag_atan_f64
double atan(double);
AG_INLINE double ag_atan_f64(double x) { return atan(x); }
//@ ag_atan2_f64
double atan2(double, double);
AG_INLINE double ag_atan2_f64(double y, double x) { return atan2(y, x); }
)ag"
