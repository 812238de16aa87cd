// rows: 6 blocks of 128 threads, 64 per row, kept in registers, 64 bytes shared
static __attribute__((noinline)) void one_block_part0(const int32_t ag_thread, const int32_t ag_block, const int32_t ag_barrier, unsigned char* ag_shared, const float* b0, float* b1, unsigned long long* error) {
  const int32_t row_of_block = ag_thread / 64;
  const int32_t t = ag_thread % 64;
  const int32_t unit = (int32_t)ag_block * 2 + row_of_block;
  const int32_t i0 = unit;
  float keep0[2][1];
  float keep1[2][1];
  float r1 = -__builtin_inff();
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 1) {
      const int32_t base = t + k * 64;
      const int32_t u = 0;
      const int32_t e = base;
      if (e < 80) {
        const int32_t i1 = e;
        keep0[k + u][0] = b0[i0 * 80 + i1];
        // %1 = amax(%0, [1])
        const float v0 = keep0[k + u][0];
        r1 = AG_NAN_MAX(r1, v0);
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r1, other);
    r1 = AG_NAN_MAX(r1, from);
  }
  if (ag_thread % 32 == 0) {
    ((float*)(ag_shared + 0 + 0))[ag_thread / 32] = r1;
  }
  AG_SYNC_GROUP(5 + (ag_barrier - 1) * 2 + row_of_block, 64);
  r1 = ((float*)(ag_shared + 0 + 0))[row_of_block * 2];
  AG_UNROLL
  for (int32_t other = 1; other < 2; ++other) {
    const float from = ((float*)(ag_shared + 0 + 0))[row_of_block * 2 + other];
    r1 = AG_NAN_MAX(r1, from);
  }
  const float v1 = (float)r1;
  float r4 = 0.0f;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 1) {
      const int32_t base = t + k * 64;
      const int32_t u = 0;
      const int32_t e = base;
      if (e < 80) {
        const int32_t i2 = e;
        // %2 = exp(sub(%0, %1))
        const float v2 = keep0[k + u][0];
        const float v3 = ag_exp_f32(v2 - v1);
        keep1[k + u][0] = v3;
        // %3 = sum(%2, [1])
        r4 += v3;
      }
    }
  }
  AG_UNROLL
  for (int32_t other = 16; other > 0; other /= 2) {
    const float from = AG_SHFL_XOR(r4, other);
    r4 += from;
  }
  if (ag_thread % 32 == 0) {
    ((float*)(ag_shared + 32 + 0))[ag_thread / 32] = r4;
  }
  AG_SYNC_GROUP(5 + (ag_barrier - 1) * 2 + row_of_block, 64);
  r4 = ((float*)(ag_shared + 32 + 0))[row_of_block * 2];
  AG_UNROLL
  for (int32_t other = 1; other < 2; ++other) {
    const float from = ((float*)(ag_shared + 32 + 0))[row_of_block * 2 + other];
    r4 += from;
  }
  const float v4 = (float)r4;
  {
    AG_UNROLL
    for (int32_t k = 0; k < 2; k += 1) {
      const int32_t base = t + k * 64;
      const int32_t u = 0;
      const int32_t e = base;
      if (e < 80) {
        const int32_t i3 = e;
        // %4 = div(%2, %3)
        const float v5 = keep1[k + u][0];
        const float v6 = v5 / v4;
        b1[i0 * 80 + i3] = v6;
      }
    }
  }
}
// rows: 1 blocks of 96 threads, 8 per row, tiles of 80, 3840 bytes shared
AG_INLINE void one_block_part2(const int32_t ag_thread, const int32_t ag_block, const int32_t ag_barrier, unsigned char* ag_shared, const float* b0, float* b1, unsigned long long* error) {
  const int32_t row_of_block = ag_thread / 8;
  const int32_t t = ag_thread % 8;
  const int32_t chunk = ag_block / (int32_t)1;
  const int32_t tile = (int32_t)(ag_block % (int32_t)1) * 80;
  float acc0_1[10][1];
  AG_UNROLL
  for (int32_t k = 0; k < 10; ++k)
    AG_UNROLL
    for (int32_t v = 0; v < 1; ++v) acc0_1[k][v] = 0.0f;
  for (int32_t first = (int32_t)chunk * 12; first < 12; first += (int32_t)1 * 12) {
    const int32_t unit = first + row_of_block;
    const int32_t i0 = unit;
    {
      AG_UNROLL
      for (int32_t k = 0; k < 10; k += 1) {
        const int32_t base = tile + t + k * 8;
        float x0[1][1];
        const int32_t u = 0;
        const int32_t e = base;
        {
          const int32_t i1 = e;
          x0[u][0] = b0[i0 * 80 + i1];
          const float v0 = x0[u][0];
          acc0_1[k + u][0] += v0;
        }
      }
    }
  }
  AG_SYNC_GROUP(ag_barrier, 96);
  AG_UNROLL
  for (int32_t k = 0; k < 10; ++k) {
    AG_UNROLL
    for (int32_t v = 0; v < 1; ++v) {
      const int32_t e = tile + (k * 8 + t) * 1 + v;
      if (e < 80) {
        ((float*)(ag_shared + 0))[row_of_block * 80 + e - tile] = acc0_1[k][v];
      }
    }
  }
  AG_SYNC_GROUP(ag_barrier, 96);
  for (int32_t j = ag_thread; j < AG_MIN(80, 80 - tile); j += 96) {
    float total = ((float*)(ag_shared + 0))[j];
    for (int32_t row = 1; row < 12; ++row) {
      const float from = ((float*)(ag_shared + 0))[row * 80 + j];
      total += from;
    }
    const int32_t c1 = (tile + j);
    (b1 + (int32_t)chunk * 80)[c1] = total;
  }
}
// one block of 512 threads, 3840 bytes shared; rows: 6 blocks of 128 threads, 64 per row, kept in registers, 64 bytes shared; rows: 6 blocks of 128 threads, 64 per row, kept in registers, 64 bytes shared; rows: 1 blocks of 96 threads, 8 per row, tiles of 80, 3840 bytes shared
AG_KERNEL(512) one_block(const float* b0, float* b1, float* b2, float* b3, unsigned long long* error) {
  AG_SHARED(ag_shared);
  {
    const int32_t group = AG_THREAD / 128;
    for (int32_t block = group; block < 6; block += 4) {
      one_block_part0(AG_THREAD % 128, block, 1 + group, ag_shared + group * 64, b0, b1, error);
      AG_SYNC_GROUP(1 + group, 128);
    }
  }
  AG_SYNC();
  {
    const int32_t group = AG_THREAD / 128;
    for (int32_t block = group; block < 6; block += 4) {
      one_block_part0(AG_THREAD % 128, block, 1 + group, ag_shared + group * 64, b1, b2, error);
      AG_SYNC_GROUP(1 + group, 128);
    }
  }
  AG_SYNC();
  {
    const int32_t group = AG_THREAD / 96;
    for (int32_t block = group; group < 1 && block < 1; block += 1) {
      one_block_part2(AG_THREAD % 96, block, 1 + group, ag_shared + group * 3840, b2, b3, error);
    }
  }
}
