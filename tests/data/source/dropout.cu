// flat: 2048 blocks of 256 threads, vectors of 4, 2 at a time, aligned b0 b2
AG_KERNEL(256) dropout(const float* b0, const int64_t* b1, float* b2, unsigned long long* error) {
  {
    {
      const int32_t base = (int32_t)AG_BLOCK * 2048 + AG_THREAD * 4;
      float x2[2][4];
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 1024;
        {
          const int32_t i0 = e;
          ag_load<4>(x2[u], &b0[i0]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 1024;
        {
          const int32_t i0 = e;
          uint32_t w0[4];
          {
            uint32_t words[4];
            ag_philox_words(words, (uint64_t)b1[0], (uint64_t)b1[1] + 3 + (uint64_t)((int64_t)i0) / 4);
            w0[0] = words[0];
            w0[1] = words[1];
            w0[2] = words[2];
            w0[3] = words[3];
          }
          float y4[4];
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            const uint32_t v0 = w0[v];
            const _Bool v1 = ag_unit_f32(v0, 24.0f) < 0.75f;
            const float v2 = x2[u][v];
            const float v3 = v1 ? v2 / 0.75f : 0.0f;
            y4[v] = v3;
          }
          ag_store<4>(&b2[i0], y4);
        }
      }
    }
  }
}
