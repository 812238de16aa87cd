// flat: 63 blocks of 256 threads, vectors of 4, aligned b0
AG_KERNEL(256) scatter_rows(const float* b0, const int64_t* b1, float* b2, unsigned long long* error) {
  uint64_t bad = 0;
  {
    {
      const int32_t base = (int32_t)AG_BLOCK * 1024 + AG_THREAD * 4;
      int64_t x0[1][1];
      float x1[1][4];
      const int32_t u = 0;
      const int32_t e = base;
      if (e < 64000) {
        const int32_t i1 = (int32_t)((uint32_t)e % 64);
        const int32_t q1 = (int32_t)((uint32_t)e / 64);
        const int32_t i0 = q1;
        x0[u][0] = b1[i0];
        ag_load<4>(x1[u], &b0[i0 * 64 + i1]);
        const int64_t v0 = x0[u][0];
        AG_UNROLL
        for (int32_t v = 0; v < 4; ++v) {
          const float v1 = x1[u][v];
          const uint32_t o_2_0 = ag_outside(v0, 50, 1);
          if (o_2_0 != 0) bad = ag_bad(1, v0);
          const int64_t p_2_0 = ag_position(v0, 50, 1);
          AG_ATOMIC_ADD(&b2[p_2_0 * 64 + (i1 + v)], (float)((o_2_0) != 0 ? __builtin_nanf("") : v1));
        }
      }
    }
  }
  if (bad != 0) *error = bad;
}
