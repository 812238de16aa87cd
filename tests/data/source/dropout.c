int64_t dropout(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const int64_t* b1 = (const int64_t*)buffers[1];
  float* b2 = (float*)buffers[2];
  for (int64_t t0 = begin; t0 < end; t0 += 1024) {
    const int64_t e0 = AG_MIN(t0 + 1024, end);
    uint32_t r0[1024];
    ag_philox_row(r0, (uint64_t)b1[0], (uint64_t)b1[1] + 3, t0, e0 - t0);
#pragma omp simd
    for (int64_t i0 = t0; i0 < e0; ++i0) {
      const uint32_t v0 = r0[i0 - t0];
      const _Bool v1 = ag_unit_f32(v0, 24.0f) < 0.75f;
      const float v2 = b0[i0];
      const float v3 = v1 ? v2 / 0.75f : 0.0f;
      b2[i0] = v3;
    }
  }
  return 0;
}
