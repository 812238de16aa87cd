static inline __attribute__((always_inline)) int64_t middle_softmax_strip(void* const* buffers, const int64_t* dims, int64_t i0, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  float v1[64];
  for (int64_t l = 0; l < n; ++l) v1[l] = -__builtin_inff();
  for (int64_t i2 = 0; i2 < 100; ++i2) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v0 = b0[i0 * 20000 + i1 + i2 * 200];
      v1[l] = AG_NAN_MAX(v1[l], v0);
    }
  }
  float v4[64];
  for (int64_t l = 0; l < n; ++l) v4[l] = 0.0f;
  for (int64_t i3 = 0; i3 < 100; ++i3) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v2 = b0[i0 * 20000 + i1 + i3 * 200];
      const float v3 = ag_exp_f32(v2 - v1[l]);
      v4[l] += v3;
    }
  }
  float v5[64];
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    v5[l] = 1.0f / v4[l];
  }
  for (int64_t i4 = 0; i4 < 100; ++i4) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v6 = b0[i0 * 20000 + i1 + i4 * 200];
      const float v7 = ag_exp_f32(v6 - v1[l]) * v5[l];
      b1[i0 * 20000 + i1 + i4 * 200] = v7;
    }
  }
  return 0;
}

int64_t middle_softmax(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  int64_t strip = begin % 4;
  int64_t i0 = begin / 4;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t first = strip * 64;
    if (first + 64 <= 200) {
      middle_softmax_strip(buffers, dims, i0, first, 64);
    }
    else {
      middle_softmax_strip(buffers, dims, i0, first, 8);
    }
    if (++strip == 4) {
      strip = 0;
      ++i0;
    }
  }
  return 0;
}
