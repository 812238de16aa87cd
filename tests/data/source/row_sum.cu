// rows: s0 blocks of 256 threads, 256 per row, 4 at a time, 64-bit positions, 64 bytes shared
AG_KERNEL(256) row_sum(const float* b0, float* b1, long long s0, long long s1, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int64_t d0 = s1 * 2;
  const int32_t t = AG_THREAD % 256;
  const int64_t unit = (int64_t)AG_BLOCK * 1;
  const int64_t i0 = unit;
  double r1 = 0.0;
  {
    for (int64_t base = t; base < d0; base += 256 * 4) {
      float x0[4][1];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int64_t e = base + u * 256;
        if (e < d0) {
          const int64_t i1 = e;
          x0[u][0] = b0[i0 * d0 + i1];
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int64_t e = base + u * 256;
        if (e < d0) {
          const int64_t i1 = e;
          const float v0 = x0[u][0];
          r1 += v0;
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const double from = AG_SHFL_XOR(r1, other);
    r1 += from;
  }
  if (AG_THREAD % 32 == 0) {
    ((double*)(ag_shared + 0 + 0))[AG_THREAD / 32] = r1;
  }
  AG_SYNC();
  r1 = ((double*)(ag_shared + 0 + 0))[0];
  AG_UNROLL
  for (int32_t other = 1; other < 8; ++other) {
    const double from = ((double*)(ag_shared + 0 + 0))[0 + other];
    r1 += from;
  }
  const float v1 = (float)r1;
  if (t == 0) {
    b1[i0] = v1;
  }
}
