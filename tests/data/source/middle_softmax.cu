// columns: 25 blocks of 512 threads, 16 per row, 4 at a time, 4096 bytes shared
AG_KERNEL(512) middle_softmax(const float* b0, float* b1, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int32_t row_of_block = AG_THREAD % 32;
  const int32_t t = AG_THREAD / 32;
  const int32_t unit = (int32_t)AG_BLOCK * 32 + row_of_block;
  const int32_t i1 = (int32_t)((uint32_t)unit % 200);
  const int32_t q1 = (int32_t)((uint32_t)unit / 200);
  const int32_t i0 = q1;
  float r1 = -__builtin_inff();
  {
    for (int32_t base = t; base < 100; base += 16 * 4) {
      float x0[4][1];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i2 = e;
          x0[u][0] = b0[i0 * 20000 + i1 + i2 * 200];
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i2 = e;
          const float v0 = x0[u][0];
          r1 = AG_NAN_MAX(r1, v0);
        }
      }
    }
  }
  ((float*)(ag_shared + 0 + 0))[AG_THREAD] = r1;
  for (int32_t half = 8; half > 0; half /= 2) {
    AG_SYNC();
    if (t < half) {
      {
        const float from = ((float*)(ag_shared + 0 + 0))[AG_THREAD + half * 32];
        r1 = AG_NAN_MAX(r1, from);
        ((float*)(ag_shared + 0 + 0))[AG_THREAD] = r1;
      }
    }
  }
  AG_SYNC();
  r1 = ((float*)(ag_shared + 0 + 0))[row_of_block];
  AG_SYNC();
  const float v1 = (float)r1;
  float r4 = 0.0f;
  {
    for (int32_t base = t; base < 100; base += 16 * 4) {
      float x2[4][1];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i3 = e;
          x2[u][0] = b0[i0 * 20000 + i1 + i3 * 200];
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i3 = e;
          const float v2 = x2[u][0];
          const float v3 = ag_exp_f32(v2 - v1);
          r4 += v3;
        }
      }
    }
  }
  ((float*)(ag_shared + 0 + 0))[AG_THREAD] = r4;
  for (int32_t half = 8; half > 0; half /= 2) {
    AG_SYNC();
    if (t < half) {
      {
        const float from = ((float*)(ag_shared + 0 + 0))[AG_THREAD + half * 32];
        r4 += from;
        ((float*)(ag_shared + 0 + 0))[AG_THREAD] = r4;
      }
    }
  }
  AG_SYNC();
  r4 = ((float*)(ag_shared + 0 + 0))[row_of_block];
  AG_SYNC();
  const float v4 = (float)r4;
  const float v5 = 1.0f / v4;
  {
    for (int32_t base = t; base < 100; base += 16 * 4) {
      float x6[4][1];
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i4 = e;
          x6[u][0] = b0[i0 * 20000 + i1 + i4 * 200];
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 4; ++u) {
        const int32_t e = base + u * 16;
        if (e < 100) {
          const int32_t i4 = e;
          const float v6 = x6[u][0];
          const float v7 = ag_exp_f32(v6 - v1) * v5;
          b1[i0 * 20000 + i1 + i4 * 200] = v7;
        }
      }
    }
  }
}
