// %1 = exp(%0)
// %2 = add(mul(%1, 2), %0)
// flat: 1024 blocks of 256 threads, vectors of 8, 2 at a time, aligned b0 b1
AG_KERNEL(256) pointwise(const uint16_t* b0, uint16_t* b1, unsigned long long* error) {
  {
    const float v2 = 2.0f;
    {
      const int32_t base = (int32_t)AG_BLOCK * 4096 + AG_THREAD * 8;
      uint16_t x0[2][8];
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 2048;
        {
          const int32_t i0 = e;
          ag_load<8>(x0[u], &b0[i0]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 2048;
        {
          const int32_t i0 = e;
          uint16_t y4[8];
          AG_UNROLL
          for (int32_t v = 0; v < 8; ++v) {
            // %1 = exp(%0)
            const float v0 = ag_bf16_to_f32(x0[u][v]);
            const float v1 = ag_exp_f32(v0);
            // %2 = add(mul(%1, 2), %0)
            const float v3 = v1 * v2 + v0;
            y4[v] = ag_f32_to_bf16(v3);
          }
          ag_store<8>(&b1[i0], y4);
        }
      }
    }
  }
}
