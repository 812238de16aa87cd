// rows: 65536 blocks of 128 threads, 128 per row, vectors of 4, 4 at a time, kept in registers, 64 bytes shared, aligned b0 b1
AG_KERNEL(128) softmax(const float* b0, float* b1, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int32_t t = AG_THREAD % 128;
  const int32_t unit = (int32_t)AG_BLOCK * 1;
  const int32_t i0 = unit;
  float keep0[2][4];
  float keep1[2][4];
  float r1 = -__builtin_inff();
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 2) {
      const int32_t base = t * 4 + k * 512;
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 512;
        if (e < 1000) {
          const int32_t i1 = e;
          ag_load<4>(keep0[k + u], &b0[i0 * 1000 + i1]);
        }
      }
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 512;
        if (e < 1000) {
          const int32_t i1 = e;
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %1 = amax(%0, [1])
            const float v0 = keep0[k + u][v];
            r1 = AG_NAN_MAX(r1, v0);
          }
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r1, other);
    r1 = AG_NAN_MAX(r1, from);
  }
  if (AG_THREAD % 32 == 0) {
    ((float*)(ag_shared + 0 + 0))[AG_THREAD / 32] = r1;
  }
  AG_SYNC();
  r1 = ((float*)(ag_shared + 0 + 0))[0];
  AG_UNROLL
  for (int32_t other = 1; other < 4; ++other) {
    const float from = ((float*)(ag_shared + 0 + 0))[0 + other];
    r1 = AG_NAN_MAX(r1, from);
  }
  const float v1 = (float)r1;
  float r4 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 2) {
      const int32_t base = t * 4 + k * 512;
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 512;
        if (e < 1000) {
          const int32_t i2 = e;
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %2 = exp(sub(%0, %1))
            const float v2 = keep0[k + u][v];
            const float v3 = ag_exp_f32(v2 - v1);
            keep1[k + u][v] = v3;
            // %3 = sum(%2, [1])
            r4 += v3;
          }
        }
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r4, other);
    r4 += from;
  }
  if (AG_THREAD % 32 == 0) {
    ((float*)(ag_shared + 32 + 0))[AG_THREAD / 32] = r4;
  }
  AG_SYNC();
  r4 = ((float*)(ag_shared + 32 + 0))[0];
  AG_UNROLL
  for (int32_t other = 1; other < 4; ++other) {
    const float from = ((float*)(ag_shared + 32 + 0))[0 + other];
    r4 += from;
  }
  const float v4 = (float)r4;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 2) {
      const int32_t base = t * 4 + k * 512;
      AG_UNROLL
      for (int32_t u = 0; u < 2; ++u) {
        const int32_t e = base + u * 512;
        if (e < 1000) {
          const int32_t i3 = e;
          float y2[4];
          AG_UNROLL
          for (int32_t v = 0; v < 4; ++v) {
            // %4 = div(%2, %3)
            const float v5 = keep1[k + u][v];
            const float v6 = v5 / v4;
            y2[v] = v6;
          }
          ag_store<4>(&b1[i0 * 1000 + i3], y2);
        }
      }
    }
  }
}
