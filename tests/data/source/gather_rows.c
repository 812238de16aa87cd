int64_t gather_rows(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const int64_t s1 = dims[1];
  const float* b0 = (const float*)buffers[0];
  const int64_t* b1 = (const int64_t*)buffers[1];
  float* b2 = (float*)buffers[2];
  int64_t bad = 0;
  if (begin < end && s1 <= 0) return 1;
  for (int64_t i0 = begin; i0 < end; ++i0) {
    const int64_t v0 = b1[i0];
    bad |= ag_outside(v0, s1, 1);
    const int64_t p0_0 = ag_position(v0, s1, 1);
#pragma omp simd
    for (int64_t i1 = 0; i1 < 64; ++i1) {
      const float v1 = b0[p0_0 * 64 + i1];
      b2[i0 * 64 + i1] = v1;
    }
  }
  return bad;
}
