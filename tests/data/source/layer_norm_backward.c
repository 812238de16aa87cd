int64_t layer_norm_backward(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  float* b6 = (float*)buffers[6];
  float* b7 = (float*)buffers[7];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 64 * chunk / 8;
    const int64_t to = 64 * (chunk + 1) / 8;
    float* acc0 = b6 + chunk * 768;
    for (int64_t j = 0; j < 768; ++j) acc0[j] = 0.0f;
    float* acc1 = b7 + chunk * 768;
    for (int64_t j = 0; j < 768; ++j) acc1[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      const float v0 = b3[i0];
      const float v1 = b4[i0];
      float v7 = 0.0f;
      float v9 = 0.0f;
#pragma omp simd reduction(+:v7) reduction(+:v9)
      for (int64_t i1 = 0; i1 < 768; ++i1) {
        const float v2 = b1[i0 * 768 + i1];
        const float v3 = b0[i0 * 768 + i1];
        const float v4 = (v3 - v0) * v1;
        const float v5 = b2[i1];
        const float v6 = v2 * v5;
        v7 += v6;
        const float v8 = v6 * v4;
        v9 += v8;
        const float v10 = v2 * v4;
        acc0[i1] += v10;
        acc1[i1] += v2;
      }
      const float v11 = 768.0f;
      const float v12 = v7 / v11;
      const float v13 = v9 / v11;
#pragma omp simd
      for (int64_t i2 = 0; i2 < 768; ++i2) {
        const float v14 = b1[i0 * 768 + i2];
        const float v15 = b0[i0 * 768 + i2];
        const float v16 = (v15 - v0) * v1;
        const float v17 = b2[i2];
        const float v18 = (v14 * v17 - v12 - v16 * v13) * v1;
        b5[i0 * 768 + i2] = v18;
      }
    }
  }
  return 0;
}
