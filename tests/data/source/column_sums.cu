// rows: 1056 blocks of 384 threads, 192 per row, vectors of 4, 4 at a time, tiles of 3072, 2 per multiprocessor, 64-bit positions, 24576 bytes shared, aligned b0
AG_KERNEL(384, 2) column_sums(const float* b0, float* b1, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int32_t row_of_block = AG_THREAD / 192;
  const int32_t t = AG_THREAD % 192;
  const int32_t chunk = AG_BLOCK / (int32_t)2;
  const int64_t tile = (int64_t)(AG_BLOCK % (int32_t)2) * 3072;
  float acc0_1[4][4];
  AG_UNROLL
  for (int32_t k = 0; k < 4; ++k)
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) acc0_1[k][v] = 0.0f;
  for (int64_t first = (int64_t)chunk * 2; first < 400000; first += (int64_t)528 * 2) {
    const int64_t unit = first + row_of_block;
    const int64_t i0 = unit;
    {
      AG_UNROLL
      for (int32_t k = 0; k < 4; k += 4) {
        const int64_t base = tile + t * 4 + k * 768;
        float x0[4][4];
        AG_UNROLL
        for (int32_t u = 0; u < 4; ++u) {
          const int64_t e = base + u * 768;
          if (e < 6000) {
            const int64_t i1 = e;
            ag_load<4>(x0[u], &b0[i0 * 6000 + i1]);
          }
        }
        AG_UNROLL
        for (int32_t u = 0; u < 4; ++u) {
          const int64_t e = base + u * 768;
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
  AG_SYNC();
  AG_UNROLL
  for (int32_t k = 0; k < 4; ++k) {
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) {
      const int64_t e = tile + (k * 192 + t) * 4 + v;
      if (e < 6000) {
        ((float*)(ag_shared + 0))[row_of_block * 3072 + e - tile] = acc0_1[k][v];
      }
    }
  }
  AG_SYNC();
  for (int64_t j = AG_THREAD; j < AG_MIN(3072, 6000 - tile); j += 384) {
    float total = ((float*)(ag_shared + 0))[j];
    for (int32_t row = 1; row < 2; ++row) {
      const float from = ((float*)(ag_shared + 0))[row * 3072 + j];
      total += from;
    }
    const int64_t c1 = (tile + j);
    (b1 + (int64_t)chunk * 6000)[c1] = total;
  }
}
