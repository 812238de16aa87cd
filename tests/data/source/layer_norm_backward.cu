// rows: 528 blocks of 384 threads, 128 per row, vectors of 4, 4 at a time, kept in registers, 2 per multiprocessor, 12288 bytes shared, aligned b0 b1 b2 b5
AG_KERNEL(384, 2) layer_norm_backward(const float* b0, const float* b1, const float* b2, const float* b3, const float* b4, float* b5, float* b6, float* b7, unsigned long long* error) {
  AG_SHARED(ag_shared);
  const int32_t row_of_block = AG_THREAD / 128;
  const int32_t t = AG_THREAD % 128;
  float acc1_9[2][4];
  AG_UNROLL
  for (int32_t k = 0; k < 2; ++k)
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) acc1_9[k][v] = 0.0f;
  float acc1_10[2][4];
  AG_UNROLL
  for (int32_t k = 0; k < 2; ++k)
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) acc1_10[k][v] = 0.0f;
  for (int32_t first = (int32_t)AG_BLOCK * 3; first < 65536; first += (int32_t)528 * 3) {
    const int32_t unit = first + row_of_block;
    const bool active = unit < 65536;
    const int32_t i0 = (active ? unit : 0);
    float keep0[2][4];
    float keep1[2][4];
    const float v0 = b3[i0];
    const float v1 = b4[i0];
    float r7 = 0.0f;
    float r9 = 0.0f;
    {
      if (active) {
        AG_UNROLL
        for (int32_t k = 0; k < 2; k += 2) {
          const int32_t base = t * 4 + k * 512;
          float x5[2][4];
          AG_UNROLL
          for (int32_t u = 0; u < 2; ++u) {
            const int32_t e = base + u * 512;
            {
              const int32_t i1 = e;
              ag_load<4>(keep1[k + u], &b1[i0 * 1024 + i1]);
              ag_load<4>(keep0[k + u], &b0[i0 * 1024 + i1]);
              ag_load<4>(x5[u], &b2[i1]);
            }
          }
          AG_UNROLL
          for (int32_t u = 0; u < 2; ++u) {
            const int32_t e = base + u * 512;
            {
              const int32_t i1 = e;
              AG_UNROLL
              for (int32_t v = 0; v < 4; ++v) {
                const float v2 = keep1[k + u][v];
                const float v3 = keep0[k + u][v];
                const float v4 = (v3 - v0) * v1;
                const float v5 = x5[u][v];
                const float v6 = v2 * v5;
                r7 = __builtin_fmaf(v2, v5, r7);
                const float v8 = v6 * v4;
                r9 = __builtin_fmaf(v6, v4, r9);
                const float v10 = v2 * v4;
                acc1_9[k + u][v] = __builtin_fmaf(v2, v4, acc1_9[k + u][v]);
                acc1_10[k + u][v] += v2;
              }
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
    AG_UNROLL
    for (int32_t other = 16; other > 0; other /= 2) {
      const float from = AG_SHFL_XOR(r9, other);
      r9 += from;
    }
    if (AG_THREAD % 32 == 0) {
      ((float*)(ag_shared + 0 + 0))[AG_THREAD / 32] = r7;
      ((float*)(ag_shared + 0 + 96))[AG_THREAD / 32] = r9;
    }
    AG_SYNC_ROW(row_of_block, 128);
    r7 = ((float*)(ag_shared + 0 + 0))[row_of_block * 4];
    AG_UNROLL
    for (int32_t other = 1; other < 4; ++other) {
      const float from = ((float*)(ag_shared + 0 + 0))[row_of_block * 4 + other];
      r7 += from;
    }
    r9 = ((float*)(ag_shared + 0 + 96))[row_of_block * 4];
    AG_UNROLL
    for (int32_t other = 1; other < 4; ++other) {
      const float from = ((float*)(ag_shared + 0 + 96))[row_of_block * 4 + other];
      r9 += from;
    }
    AG_SYNC_ROW(row_of_block, 128);
    const float v7 = (float)r7;
    const float v9 = (float)r9;
    const float v11 = 1024.0f;
    const float v12 = v7 / v11;
    const float v13 = v9 / v11;
    {
      if (active) {
        AG_UNROLL
        for (int32_t k = 0; k < 2; k += 2) {
          const int32_t base = t * 4 + k * 512;
          float x17[2][4];
          AG_UNROLL
          for (int32_t u = 0; u < 2; ++u) {
            const int32_t e = base + u * 512;
            {
              const int32_t i2 = e;
              ag_load<4>(x17[u], &b2[i2]);
            }
          }
          AG_UNROLL
          for (int32_t u = 0; u < 2; ++u) {
            const int32_t e = base + u * 512;
            {
              const int32_t i2 = e;
              float y5[4];
              AG_UNROLL
              for (int32_t v = 0; v < 4; ++v) {
                const float v14 = keep1[k + u][v];
                const float v15 = keep0[k + u][v];
                const float v16 = (v15 - v0) * v1;
                const float v17 = x17[u][v];
                const float v18 = (v14 * v17 - v12 - v16 * v13) * v1;
                y5[v] = v18;
              }
              ag_store<4>(&b5[i0 * 1024 + i2], y5);
            }
          }
        }
      }
    }
  }
  AG_SYNC();
  AG_UNROLL
  for (int32_t k = 0; k < 2; ++k) {
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) {
      const int32_t e = (k * 128 + t) * 4 + v;
      if (e < 1024) {
        ((float*)(ag_shared + 0))[row_of_block * 1024 + e] = acc1_9[k][v];
      }
    }
  }
  AG_SYNC();
  for (int32_t j = AG_THREAD; j < 1024; j += 384) {
    float total = ((float*)(ag_shared + 0))[j];
    for (int32_t row = 1; row < 3; ++row) {
      const float from = ((float*)(ag_shared + 0))[row * 1024 + j];
      total += from;
    }
    const int32_t c1 = j;
    (b6 + (int32_t)AG_BLOCK * 1024)[c1] = total;
  }
  AG_SYNC();
  AG_UNROLL
  for (int32_t k = 0; k < 2; ++k) {
    AG_UNROLL
    for (int32_t v = 0; v < 4; ++v) {
      const int32_t e = (k * 128 + t) * 4 + v;
      if (e < 1024) {
        ((float*)(ag_shared + 0))[row_of_block * 1024 + e] = acc1_10[k][v];
      }
    }
  }
  AG_SYNC();
  for (int32_t j = AG_THREAD; j < 1024; j += 384) {
    float total = ((float*)(ag_shared + 0))[j];
    for (int32_t row = 1; row < 3; ++row) {
      const float from = ((float*)(ag_shared + 0))[row * 1024 + j];
      total += from;
    }
    const int32_t c1 = j;
    (b7 + (int32_t)AG_BLOCK * 1024)[c1] = total;
  }
}
