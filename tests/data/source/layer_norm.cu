// rows: 32768 blocks of 128 threads, 64 per row, vectors of 4, 4 at a time, kept in registers, 32 bytes shared, aligned b0 b1 b2 b3
AG_KERNEL(128) layer_norm(const float* b0, const float* b1, const float* b2, float* b3, float* b4, float* b5, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int32_t row_of_block = AG_THREAD / 64;
  const int32_t t = AG_THREAD % 64;
  const int32_t unit = (int32_t)AG_BLOCK * 2 + row_of_block;
  const int32_t i0 = unit;
  float keep0[3][4];
  float r1 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 3; k += 1) {
      const int32_t base = t * 4 + k * 256;
      const int32_t u = 0;
      const int32_t e = base;
      {
        const int32_t i1 = e;
        ag_load<4>(keep0[k + u], &b0[i0 * 768 + i1]);
        AG_UNROLL
        for (int32_t v = 0; v < 4; ++v) {
          // %mean = mean(%x, [1])
          const float v0 = keep0[k + u][v];
          r1 += v0;
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r1, other);
    r1 += from;
  }
  if (AG_THREAD % 32 == 0) {
    ((float*)(ag_shared + 0 + 0))[AG_THREAD / 32] = r1;
  }
  AG_SYNC();
  r1 = ((float*)(ag_shared + 0 + 0))[row_of_block * 2];
  AG_UNROLL
  for (int32_t other = 1; other < 2; ++other) {
    const float from = ((float*)(ag_shared + 0 + 0))[row_of_block * 2 + other];
    r1 += from;
  }
  AG_SYNC();
  const float v1 = (float)r1;
  const float v2 = 768.0f;
  // %mean = mean(%x, [1])
  const float v3 = v1 / v2;
  if (t == 0) {
    b4[i0] = v3;
  }
  AG_SYNC();
  float r7 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 3; k += 1) {
      const int32_t base = t * 4 + k * 256;
      const int32_t u = 0;
      const int32_t e = base;
      {
        const int32_t i2 = e;
        AG_UNROLL
        for (int32_t v = 0; v < 4; ++v) {
          // %var = var(%x, [1])
          const float v4 = keep0[k + u][v];
          const float v5 = v4 - v3;
          const float v6 = v5 * v5;
          r7 += v6;
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r7, other);
    r7 += from;
  }
  if (AG_THREAD % 32 == 0) {
    ((float*)(ag_shared + 0 + 0))[AG_THREAD / 32] = r7;
  }
  AG_SYNC();
  r7 = ((float*)(ag_shared + 0 + 0))[row_of_block * 2];
  AG_UNROLL
  for (int32_t other = 1; other < 2; ++other) {
    const float from = ((float*)(ag_shared + 0 + 0))[row_of_block * 2 + other];
    r7 += from;
  }
  AG_SYNC();
  const float v7 = (float)r7;
  // %rstd = rsqrt(%var + eps)
  const float v8 = 1.0f / __builtin_sqrtf(v7 / v2 + 1e-05f);
  if (t == 0) {
    b5[i0] = v8;
  }
  AG_SYNC();
  {
    AG_UNROLL
    for (int32_t k = 0; k < 3; k += 1) {
      const int32_t base = t * 4 + k * 256;
      float x10[1][4];
      float x11[1][4];
      const int32_t u = 0;
      const int32_t e = base;
      {
        const int32_t i3 = e;
        ag_load<4>(x10[u], &b1[i3]);
        ag_load<4>(x11[u], &b2[i3]);
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
