int64_t layer_norm(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  float* b4 = (float*)buffers[4];
  float* b5 = (float*)buffers[5];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    float v1 = 0.0f;
#pragma omp simd reduction(+:v1)
    for (int64_t i1 = 0; i1 < 768; ++i1) {
      // %mean = mean(%x, [1])
      const float v0 = b0[i0 * 768 + i1];
      v1 += v0;
    }
    const float v2 = 768.0f;
    // %mean = mean(%x, [1])
    const float v3 = v1 / v2;
    b4[i0] = v3;
    float v7 = 0.0f;
#pragma omp simd reduction(+:v7)
    for (int64_t i2 = 0; i2 < 768; ++i2) {
      // %var = var(%x, [1])
      const float v4 = b0[i0 * 768 + i2];
      const float v5 = v4 - v3;
      const float v6 = v5 * v5;
      v7 += v6;
    }
    // %rstd = rsqrt(%var + eps)
    const float v8 = 1.0f / __builtin_sqrtf(v7 / v2 + 1e-05f);
    b5[i0] = v8;
#pragma omp simd
    for (int64_t i3 = 0; i3 < 768; ++i3) {
      // %y = (%x - %mean) * %rstd * %w + %b
      const float v9 = b0[i0 * 768 + i3];
      const float v10 = b1[i3];
      const float v11 = b2[i3];
      const float v12 = (v9 - v3) * v8 * v10 + v11;
      b3[i0 * 768 + i3] = v12;
    }
  }
  return 0;
}
