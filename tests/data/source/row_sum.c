int64_t row_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const int64_t s1 = dims[1];
  const int64_t d0 = s1 * 2;
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    double total1 = 0.0;
    for (int64_t t1 = 0; t1 < d0; t1 += 4096) {
      const int64_t e1 = AG_MIN(t1 + 4096, d0);
      float part1 = 0.0f;
#pragma omp simd reduction(+:part1)
      for (int64_t i1 = t1; i1 < e1; ++i1) {
        const float v0 = b0[i0 * d0 + i1];
        part1 += v0;
      }
      total1 += part1;
    }
    const float v1 = (float)total1;
    b1[i0] = v1;
  }
  return 0;
}
