R"ag(
// Rare functions: scalar, in float64, with loops and calls of libm.
//@ ag_lgamma_$t for f32 f64
double lgamma(double);
AG_INLINE $T ag_lgamma_$t($T x) { return ($T)lgamma((double)x); }

//@ ag_nextafter_f32
float nextafterf(float, float);
AG_INLINE float ag_nextafter_f32(float x, float towards) { return nextafterf(x, towards); }
//@ ag_nextafter_f64
double nextafter(double, double);
AG_INLINE double ag_nextafter_f64(double x, double towards) { return nextafter(x, towards); }

//@ ag_digamma_$t for f32 f64
// Reflected to x > 0, raised to x >= 12 by digamma(x) = digamma(x + 1) - 1 / x, then the asymptotic series.
double log(double);
double tan(double);
static inline double ag_digamma_positive_$t(double x) {
  double sum = 0.0;
  for (; x < 12.0; x += 1.0) sum -= 1.0 / x;
  const double z = 1.0 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
  return sum + log(x) - 0.5 / x - series;
}
static inline $T ag_digamma_$t($T x) {
  const double d = x;
  if (d == 0.0) return ($T)__builtin_copysign(__builtin_inf(), -d);
  if (d > 0.0 || d != d) return ($T)ag_digamma_positive_$t(d);
  const double fraction = d - ag_round_even_f64(d);
  if (fraction == 0.0 || fraction != fraction) return __builtin_nan$B("");
  const double pi = 0x1.921fb54442d18p+1;
  return ($T)(ag_digamma_positive_$t(1.0 - d) - pi / tan(pi * fraction));
}

//@ ag_erfinv_$t for f32 f64
// A closed approximation, then three steps of Halley's method on erfc, of which the digits of 1 - |x| are exact.
double log(double);
double exp(double);
double erf(double);
double erfc(double);
static inline $T ag_erfinv_$t($T x) {
  const double a = __builtin_fabs((double)x);
  if (!(a < 1.0)) return a == 1.0 ? x * __builtin_inf$B() : __builtin_nan$B("");
  const double l = log((1.0 - a) * (1.0 + a));
  const double b = 4.330746750799873 + 0.5 * l;
  double y = __builtin_sqrt(__builtin_sqrt(b * b - l / 0.147) - b);
  for (int step = 0; step < 3; ++step) {
    const double error = a < 0.5 ? erf(y) - a : (1.0 - a) - erfc(y);
    const double newton = error / (1.1283791670955126 * exp(-y * y));
    y -= newton / (1.0 + y * newton);
  }
  return x == 0 ? x : ($T)__builtin_copysign(y, (double)x);
}

//@ ag_i0_$t for f32 f64
// The power series, whose terms are all positive; from 20 on the asymptotic one.
double exp(double);
static inline $T ag_i0_$t($T x) {
  const double a = __builtin_fabs((double)x);
  if (a != a) return x;
  double sum = 1.0, term = 1.0;
  if (a < 20.0) {
    for (int k = 1; term > sum * 0x1p-56; ++k) sum += term *= 0.25 * a * a / ((double)k * k);
    return ($T)sum;
  }
  for (int k = 1; k < 30 && term > 0x1p-56; ++k) sum += term *= (2 * k - 1) * (2 * k - 1) / (8.0 * k * a);
  const double half = exp(0.5 * a);
  return ($T)(half * (half * (sum / (2.5066282746310002 * __builtin_sqrt(a)))));
}
)ag"
