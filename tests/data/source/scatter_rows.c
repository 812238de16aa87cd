int64_t scatter_rows(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const int64_t* b1 = (const int64_t*)buffers[1];
  float* b2 = (float*)buffers[2];
  int64_t bad = 0;
  for (int64_t j = begin * 64; j < end * 64; ++j) b2[j] = 0;
  for (int64_t i0 = 0; i0 < 1000; ++i0) {
    const int64_t v0 = b1[i0];
    bad |= ag_outside(v0, 50, 1);
    const int64_t p0_0 = ag_position(v0, 50, 1);
    if (begin <= p0_0 && p0_0 < end) {
#pragma omp simd
      for (int64_t i1 = 0; i1 < 64; ++i1) {
        const float v1 = b0[i0 * 64 + i1];
        b2[p0_0 * 64 + i1] += v1;
      }
    }
  }
  return bad;
}
