R"ag(
struct AgNormEnd {
  double power, known, multiplier, most;
  const float* divisor;
  int kind, skips;
};
AG_NORM(const double* partials, long long count, AG_PARAMETER AgNormEnd how, AgControl* control) {
  AG_SHARED(ag_shared);
  const bool is_max = how.kind == 0;
  AgNorm own = {0.0, 0};
  for (int64_t i = AG_THREAD; i < count; i += AG_THREADS) {
    own.value = ag_combined(own.value, partials[2 * i], is_max);
    own.bad |= partials[2 * i + 1] != 0.0;
  }
  own = ag_block_norm(own, ag_shared, is_max);
  if (AG_THREAD != 0) return;
  const double multiplier = how.divisor != nullptr ? how.multiplier / (double)*how.divisor : how.multiplier;
  double norm = own.value;
  if (how.kind == 2) norm = __builtin_sqrt(norm);
  if (how.kind == 3) norm = ag_pow_f64(norm, 1.0 / how.power);
  norm = how.known >= 0.0 ? how.known : norm * multiplier;
  double scale = multiplier;
  if (how.most >= 0.0) {
    const double wanted = how.most / (norm + 1e-6);
    scale *= wanted > 1.0 ? 1.0 : wanted;  // a NaN stays
  }
  control->norm = norm;
  control->scale = scale;
  control->narrow_scale = (float)scale;
  control->skip = how.skips != 0 && own.bad != 0 ? 1.0f : 0.0f;
}
)ag"
