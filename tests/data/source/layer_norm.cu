// rows: 8192 blocks of 256 threads, 32 per row, vectors of 4, 4 at a time, kept in registers, aligned b0 b1 b2 b3
AG_KERNEL(256) layer_norm(const float* b0, const float* b1, const float* b2, float* b3, float* b4, float* b5, unsigned long long* error) {
  const int32_t row_of_block = AG_THREAD / 32;
  const int32_t t = AG_THREAD % 32;
  const int32_t unit = (int32_t)AG_BLOCK * 8 + row_of_block;
  const int32_t i0 = unit;
  float keep0[6][4];
  float r1 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 6; k += 2) {
      const int32_t base = t * 4 + k * 128;
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 128;
        {
          const int32_t i1 = e;
          ag_load<4>(keep0[k + u], &b0[i0 * 768 + i1]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 128;
        {
          const int32_t i1 = e;
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %mean = mean(%x, [1])
            const float v0 = keep0[k + u][v];
            r1 += v0;
          }
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r1, other);
    r1 += from;
  }
  const float v1 = (float)r1;
  AG_SYNC_WARP();
  const float v2 = 768.0f;
  // %mean = mean(%x, [1])
  const float v3 = v1 / v2;
  if (t == 0) {
    b4[i0] = v3;
  }
  float r7 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 6; k += 2) {
      const int32_t base = t * 4 + k * 128;
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 128;
        {
          const int32_t i2 = e;
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %var = var(%x, [1])
            const float v4 = keep0[k + u][v];
            const float v5 = v4 - v3;
            const float v6 = v5 * v5;
            r7 = __builtin_fmaf(v5, v5, r7);
          }
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r7, other);
    r7 += from;
  }
  const float v7 = (float)r7;
  // %rstd = rsqrt(%var + eps)
  const float v8 = 1.0f / __builtin_sqrtf(v7 / v2 + 1e-05f);
  if (t == 0) {
    b5[i0] = v8;
  }
  {
    AG_UNROLL
    for (int32_t k = 0; k < 6; k += 2) {
      const int32_t base = t * 4 + k * 128;
      float x10[2][4];
      float x11[2][4];
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 128;
        {
          const int32_t i3 = e;
          ag_load<4>(x10[u], &b1[i3]);
          ag_load<4>(x11[u], &b2[i3]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 128;
        {
          const int32_t i3 = e;
          float y4[4];
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %y = (%x - %mean) * %rstd * %w + %b
            const float v9 = keep0[k + u][v];
            const float v10 = x10[u][v];
            const float v11 = x11[u][v];
            const float v12 = (v9 - v3) * v8 * v10 + v11;
            y4[v] = v12;
          }
          ag_store<4>(&b3[i0 * 768 + i3], y4);
        }
      }
    }
  }
}
