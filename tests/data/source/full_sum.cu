// all: 528 blocks of 512 threads, vectors of 4, 4 at a time, 128 bytes shared, aligned b0
AG_KERNEL(512) full_sum(const float* b0, float* b1, unsigned long long* error) {
  AG_SHARED(ag_shared);
  double acc0_1 = 0.0;
  {
    for (int32_t base = (int32_t)AG_BLOCK * 8192 + AG_THREAD * 4; base < 100000000; base += (int32_t)528 * 8192) {
      float x0[4][4];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 2048;
        if (e < 100000000) {
          const int32_t i0 = e;
          ag_load<4>(x0[u], &b0[i0]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 2048;
        if (e < 100000000) {
          const int32_t i0 = e;
          float part1 = 0.0f;
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            const float v0 = x0[u][v];
            part1 += v0;
          }
          acc0_1 += part1;
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const double from = AG_SHFL_XOR(acc0_1, other);
    acc0_1 += from;
  }
  AG_SYNC();
  if (AG_THREAD % 32 == 0) ((double*)(ag_shared + 0 + 0))[AG_THREAD / 32] = acc0_1;
  AG_SYNC();
  if (AG_THREAD == 0) {
    acc0_1 = ((double*)(ag_shared + 0 + 0))[0];
    AG_UNROLL
    for (int32_t other = 1; other < 16; ++other) {
      const double from = ((double*)(ag_shared + 0 + 0))[0 + other];
      acc0_1 += from;
    }
  }
  if (AG_THREAD == 0) *(b1 + (int32_t)AG_BLOCK * 1) = acc0_1;
}
