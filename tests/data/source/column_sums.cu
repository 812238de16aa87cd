// rows: 1056 blocks of 256 threads, 256 per row, vectors of 4, 4 at a time, tiles of 4096, 64-bit positions, aligned b0
AG_KERNEL(256) column_sums(const float* b0, float* b1, unsigned long long* error) {
  const int32_t t = AG_THREAD % 256;
  const int32_t chunk = AG_BLOCK / (int32_t)2;
  const int64_t tile = (int64_t)(AG_BLOCK % (int32_t)2) * 4096;
  float acc0_1[4][4];
  AG_UNROLL
  for (int32_t k = 0; k < 4; ++k)
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) acc0_1[k][v] = 0.0f;
  for (int64_t first = (int64_t)chunk * 1; first < 400000; first += (int64_t)528 * 1) {
    const int64_t unit = first;
    const int64_t i0 = unit;
    {
      AG_UNROLL
      for (int32_t k = 0; k < 4; k += 4) {
        const int64_t base = tile + t * 4 + k * 1024;
        float x0[4][4];
        AG_UNROLL
        for (int32_t u = 0; u < 4; ++u) {
          const int64_t e = base + u * 1024;
          if (e < 6000) {
            const int64_t i1 = e;
            ag_load<4>(x0[u], &b0[i0 * 6000 + i1]);
          }
        }
        AG_UNROLL
        for (int32_t u = 0; u < 4; ++u) {
          const int64_t e = base + u * 1024;
          if (e < 6000) {
            const int64_t i1 = e;
            AG_UNROLL
            for (int32_t v = 0; v < 4; ++v) {
              const float v0 = x0[u][v];
              acc0_1[k + u][v] += v0;
            }
          }
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t k = 0; k < 4; ++k) {
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) {
      const int64_t e = tile + (k * 256 + t) * 4 + v;
      if (e < 6000) {
        const int64_t c1 = e;
        (b1 + (int64_t)chunk * 6000)[c1] = acc0_1[k][v];
      }
    }
  }
}
