// flat: floor_div(s0+63,64) blocks of 256 threads, vectors of 4, 4 at a time, 64-bit positions, aligned b0 b2
AG_KERNEL(256) gather_rows(const float* b0, const int64_t* b1, float* b2, long long s0, long long s1, unsigned long long* error) {
  const int64_t d0 = s0 * 64;
  uint64_t bad = 0;
  if (s1 <= 0 && s0 > 0 && 64 > 0) {
    *error = ag_bad(1, 0);
    return;
  }
  {
    {
      const int64_t base = (int64_t)AG_BLOCK * 4096 + AG_THREAD * 4;
      int64_t x0[4][1];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int64_t e = base + u * 1024;
        if (e < d0) {
          const int64_t i1 = (int64_t)((uint64_t)e % 64);
          const int64_t q1 = (int64_t)((uint64_t)e / 64);
          const int64_t i0 = q1;
          x0[u][0] = b1[i0];
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int64_t e = base + u * 1024;
        if (e < d0) {
          const int64_t i1 = (int64_t)((uint64_t)e % 64);
          const int64_t q1 = (int64_t)((uint64_t)e / 64);
          const int64_t i0 = q1;
          const int64_t v0 = x0[u][0];
          const uint32_t o1_0 = ag_outside(v0, s1, 1);
          if (o1_0 != 0) bad = ag_bad(1, v0);
          const int64_t p1_0 = ag_position(v0, s1, 1);
          float x1[4];
          ag_load<4>(x1, &b0[p1_0 * 64 + i1]);
          float y2[4];
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            const float v1 = (o1_0) != 0 ? __builtin_nanf("") : x1[v];
            y2[v] = v1;
          }
          ag_store<4>(&b2[i0 * 64 + i1], y2);
        }
      }
    }
  }
  if (bad != 0) *error = bad;
}
