int64_t full_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 100000 * chunk / 16;
    const int64_t to = 100000 * (chunk + 1) / 16;
    double acc0 = 0.0;
    double total_1 = 0.0;
    for (int64_t t0 = from; t0 < to; t0 += 4096) {
      const int64_t e0 = AG_MIN(t0 + 4096, to);
      float part_1 = 0.0f;
#pragma omp simd reduction(+:part_1)
      for (int64_t i0 = t0; i0 < e0; ++i0) {
        const float v0 = b0[i0];
        part_1 += v0;
      }
      total_1 += part_1;
    }
    acc0 += total_1;
    b1[chunk] = acc0;
  }
  return 0;
}
