// pot, forward
//   kernel k0_mul: 625 units, 3 sections
//   kernel k1_mul: 40000 units, 2 sections
//   LibTorch: there is no lowering for this op
//   kernel k2_silu: 2560000 units, 1 sections
//   LibTorch: there is no lowering for this op
//   kernel k2_silu: 2560000 units, 1 sections
//   LibTorch: there is no lowering for this op
//   kernel k3_sum: 4 units, 2 sections
//   kernel k4_sum: 1 units, 2 sections
//   kernel k5_clone: 32 units, 1 sections
//   kernel k6_clone: 6000 units, 1 sections

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %6: f32[40000,3] = aten.index.Tensor(%5)
// %8: f32[40000,3] = aten.index.Tensor(%7)
// %9: f32[40000,3] = aten.sub.Tensor(%8, %6)
// %10: f32[40000,3] = aten.mul.Tensor(%9, %9)
// %2: f32[40000] = aten.sum.dim_IntList(%10)
// %11: f32[40000] = aten.clamp_min(%2, 1e-06)
// %3: f32[40000] = aten.sqrt(%11)
// %12: bool[40000] = aten.lt.Scalar(%3, 6)
// %13: f32[40000] = aten.mul.Scalar(%3, 3.14159265)
// %14: f32[40000] = aten.div.Scalar(%13, 6)
// %15: f32[40000] = aten.cos(%14)
// %16: f32[40000] = aten.add.Scalar(%15, 1)
// %17: f32[40000] = aten.mul.Scalar(%16, 0.5)
// %4: f32[40000] = aten.mul.Tensor(%17, %12)
static inline __attribute__((always_inline)) int64_t k0_mul_strip(void* const* buffers, const int64_t* dims, int64_t first, int64_t n) {
  const int64_t* b0 = (const int64_t*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  float* b3 = (float*)buffers[3];
  float* b4 = (float*)buffers[4];
  int64_t bad = 0;
  int64_t v0[64];
  int64_t v2[64];
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.index.Tensor -> f32[40000,3]
    v0[l] = b0[i0];
    v2[l] = b0[i0 + 40000];
  }
  float v6[64];
  for (int64_t l = 0; l < n; ++l) v6[l] = 0.0f;
  for (int64_t i1 = 0; i1 < 3; ++i1) {
#pragma omp simd reduction(|:bad)
    for (int64_t l = 0; l < n; ++l) {
      bad |= ag_outside(v0[l], 2000, 1);
      const int64_t p0_0 = ag_position(v0[l], 2000, 1);
      bad |= ag_outside(v2[l], 2000, 1);
      const int64_t p2_1 = ag_position(v2[l], 2000, 1);
      // aten.index.Tensor -> f32[40000,3]
      const float v1 = b1[p0_0 * 3 + i1];
      const float v3 = b1[p2_1 * 3 + i1];
      // aten.sub.Tensor -> f32[40000,3]
      const float v4 = v1 - v3;
      // aten.mul.Tensor -> f32[40000,3]
      const float v5 = v4 * v4;
      // aten.sum.dim_IntList -> f32[40000]
      v6[l] += v5;
    }
  }
  const float v7 = 1e-06f;
  const float v10 = 3.1415927f;
  const float v12 = 6.0f;
  const float v15 = 1.0f;
  const float v17 = 0.5f;
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.sum.dim_IntList -> f32[40000]
    b2[i0] = v6[l];
    // aten.clamp_min -> f32[40000]
    const float v8 = ag_clamp_min_f32(v6[l], v7);
    // aten.sqrt -> f32[40000]
    const float v9 = __builtin_sqrtf(v8);
    b3[i0] = v9;
    // aten.mul.Scalar -> f32[40000]
    const float v11 = v9 * v10;
    // aten.div.Scalar -> f32[40000]
    const float v13 = v11 / v12;
    // aten.cos -> f32[40000]
    const float v14 = ag_cos_f32(v13);
    // aten.add.Scalar -> f32[40000]
    const float v16 = v14 + v15;
    // aten.mul.Scalar -> f32[40000]
    const float v18 = v16 * v17;
    // aten.lt.Scalar -> bool[40000]
    const _Bool v19 = v9 < v12;
    // aten.mul.Tensor -> f32[40000]
    const float v20 = (float)v19;
    const float v21 = v18 * v20;
    b4[i0] = v21;
  }
  return bad;
}

int64_t k0_mul(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  int64_t bad = 0;
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * 64;
    bad |= k0_mul_strip(buffers, dims, first, 64);
  }
  return bad;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %5: f32[40000,32] = aten.sub.Tensor(%4, %1)
// %6: f32[40000,32] = aten.pow.Tensor_Scalar(%5)
// %7: f32[40000,32] = aten.mul.Scalar(%6, -4)
// %8: f32[40000,32] = aten.exp(%7)
// %3: f32[40000,32] = aten.mul.Tensor(%8, %9)
int64_t k1_mul(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.sub.Tensor -> f32[40000,32]
    const float v0 = b0[i0];
    // aten.mul.Tensor -> f32[40000,32]
    const float v7 = b2[i0];
    const float v4 = -4.0f;
#pragma omp simd
    for (int64_t i1 = 0; i1 < 32; ++i1) {
      // aten.sub.Tensor -> f32[40000,32]
      const float v1 = b1[i1];
      const float v2 = v0 - v1;
      // aten.pow.Tensor_Scalar -> f32[40000,32]
      const float v3 = v2 * v2;
      // aten.mul.Scalar -> f32[40000,32]
      const float v5 = v3 * v4;
      // aten.exp -> f32[40000,32]
      const float v6 = ag_exp_f32(v5);
      // aten.mul.Tensor -> f32[40000,32]
      const float v8 = v6 * v7;
      b3[i0 * 32 + i1] = v8;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[40000,64] = aten.silu(%0)
int64_t k2_silu(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.silu -> f32[40000,64]
    const float v0 = b0[i0];
    const float v1 = v0 * ag_sigmoid_f32(v0);
    b1[i0] = v1;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %4: f32[40000] = aten.mul.Tensor(%3, %1)
// %2: f64[4] = aten.sum.dim_IntList(%4)
int64_t k3_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  double* b2 = (double*)buffers[2];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 40000 * chunk / 4;
    const int64_t to = 40000 * (chunk + 1) / 4;
    double acc0 = 0.0;
    double total3 = 0.0;
    for (int64_t t0 = from; t0 < to; t0 += 4096) {
      const int64_t e0 = AG_MIN(t0 + 4096, to);
      float part3 = 0.0f;
#pragma omp simd reduction(+:part3)
      for (int64_t i0 = t0; i0 < e0; ++i0) {
        // aten.mul.Tensor -> f32[40000]
        const float v0 = b0[i0];
        const float v1 = b1[i0];
        const float v2 = v0 * v1;
        // aten.sum.dim_IntList -> f64[4]
        part3 += v2;
      }
      total3 += part3;
    }
    const float v3 = (float)total3;
    // aten.sum.dim_IntList -> f64[4]
    const double v4 = (double)v3;
    acc0 += v4;
    b2[chunk] = acc0;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[] = aten.sum.dim_IntList(%0)
int64_t k4_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const double* b0 = (const double*)buffers[0];
  float* b1 = (float*)buffers[1];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    double v1 = 0.0;
#pragma omp simd reduction(+:v1)
    for (int64_t i1 = 0; i1 < 4; ++i1) {
      // aten.sum.dim_IntList -> f32[]
      const double v0 = b0[i1];
      v1 += v0;
    }
    // aten.sum.dim_IntList -> f32[]
    const float v2 = (float)v1;
    b1[0] = v2;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[32] = aten.clone(%0)
int64_t k5_clone(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.clone -> f32[32]
    const float v0 = b0[i0];
    b1[i0] = v0;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[2000,3] = aten.clone(%0)
int64_t k6_clone(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.clone -> f32[2000,3]
    const float v0 = b0[i0];
    b1[i0] = v0;
  }
  return 0;
}

// pot, backward
//   kernel k0_mul: 40000 units, 1 sections
//   kernel k1_sum: 4 units, 2 sections
//   kernel k2_sum: 1 units, 2 sections
//   LibTorch: there is no lowering for this op
//   kernel k3_silu: 2560000 units, 1 sections
//   LibTorch: there is no lowering for this op
//   kernel k4_sum: 625 units, 1 sections
//   kernel k5_sum: 1 units, 2 sections
//   LibTorch: there is no lowering for this op
//   kernel k3_silu: 2560000 units, 1 sections
//   LibTorch: there is no lowering for this op
//   kernel k4_sum: 625 units, 1 sections
//   kernel k5_sum: 1 units, 2 sections
//   LibTorch: there is no lowering for this op
//   kernel k6_div: 625 units, 3 sections
//   LibTorch: there is no lowering for this op
//   kernel k7_sum: 1 units, 2 sections
//   kernel k8_where: 40000 units, 1 sections
//   kernel k9_neg: 40000 units, 2 sections
//   kernel k10_index_put: 2000 units, 2 sections
//   kernel k11_index_put: 2000 units, 2 sections
//   kernel k12_add: 6000 units, 1 sections

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %2: f32[40000] = aten.mul.Tensor(%3, %4)
int64_t k0_mul(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  if (begin >= end) return 0;
  // aten.mul.Tensor -> f32[40000]
  const float v0 = b0[0];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    const float v1 = b1[i0];
    const float v2 = v0 * v1;
    b2[i0] = v2;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6 = buffer 6
// %7 = buffer 7
// %8 = buffer 8
// %9: f32[40000] = aten.clamp_min(%0, 1e-06)
// %1: f32[40000] = aten.sqrt(%9)
// %2: bool[40000] = aten.lt.Scalar(%1, 6)
// %10: f32[40000] = aten.mul.Scalar(%1, 3.14159265)
// %11: f32[40000] = aten.div.Scalar(%10, 6)
// %12: f32[40000] = aten.cos(%11)
// %13: f32[40000] = aten.add.Scalar(%12, 1)
// %14: f32[40000] = aten.mul.Scalar(%13, 0.5)
// %3: f32[40000] = aten.mul.Tensor(%14, %2)
// %5: f32[40000] = aten.mul.Tensor(%15, %3)
// %6: f64[4,1,1] = aten.sum.dim_IntList(%16)
// %17: f32[40000] = aten.sin(%11)
// %7: f32[40000] = aten.neg(%17)
// %8: f32[40000] = aten.mul.Scalar(%1, 2)
int64_t k1_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  uint8_t* b2 = (uint8_t*)buffers[2];
  float* b3 = (float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  double* b6 = (double*)buffers[6];
  float* b7 = (float*)buffers[7];
  float* b8 = (float*)buffers[8];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 40000 * chunk / 4;
    const int64_t to = 40000 * (chunk + 1) / 4;
    double acc0 = 0.0;
    double total18 = 0.0;
    const float v1 = 1e-06f;
    const float v4 = 6.0f;
    const float v6 = 3.1415927f;
    const float v10 = 1.0f;
    const float v12 = 0.5f;
    // aten.mul.Tensor -> f32[40000]
    const float v16 = b4[0];
    const float v22 = 2.0f;
    for (int64_t t0 = from; t0 < to; t0 += 4096) {
      const int64_t e0 = AG_MIN(t0 + 4096, to);
      float part18 = 0.0f;
#pragma omp simd reduction(+:part18)
      for (int64_t i0 = t0; i0 < e0; ++i0) {
        // aten.clamp_min -> f32[40000]
        const float v0 = b0[i0];
        const float v2 = ag_clamp_min_f32(v0, v1);
        // aten.sqrt -> f32[40000]
        const float v3 = __builtin_sqrtf(v2);
        b1[i0] = v3;
        // aten.lt.Scalar -> bool[40000]
        const _Bool v5 = v3 < v4;
        b2[i0] = v5;
        // aten.mul.Scalar -> f32[40000]
        const float v7 = v3 * v6;
        // aten.div.Scalar -> f32[40000]
        const float v8 = v7 / v4;
        // aten.cos -> f32[40000]
        const float v9 = ag_cos_f32(v8);
        // aten.add.Scalar -> f32[40000]
        const float v11 = v9 + v10;
        // aten.mul.Scalar -> f32[40000]
        const float v13 = v11 * v12;
        // aten.mul.Tensor -> f32[40000]
        const float v14 = (float)v5;
        const float v15 = v13 * v14;
        b3[i0] = v15;
        const float v17 = v16 * v15;
        b5[i0] = v17;
        // aten.sum.dim_IntList -> f64[4,1,1]
        part18 += v17;
        // aten.sin -> f32[40000]
        const float v20 = ag_sin_f32(v8);
        // aten.neg -> f32[40000]
        const float v21 = -v20;
        b7[i0] = v21;
        // aten.mul.Scalar -> f32[40000]
        const float v23 = v3 * v22;
        b8[i0] = v23;
      }
      total18 += part18;
    }
    const float v18 = (float)total18;
    // aten.sum.dim_IntList -> f64[4,1,1]
    const double v19 = (double)v18;
    acc0 += v19;
    b6[chunk] = acc0;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[1,1] = aten.sum.dim_IntList(%0)
int64_t k2_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const double* b0 = (const double*)buffers[0];
  float* b1 = (float*)buffers[1];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    double v1 = 0.0;
#pragma omp simd reduction(+:v1)
    for (int64_t i1 = 0; i1 < 4; ++i1) {
      // aten.sum.dim_IntList -> f32[1,1]
      const double v0 = b0[i1];
      v1 += v0;
    }
    // aten.sum.dim_IntList -> f32[1,1]
    const float v2 = (float)v1;
    b1[0] = v2;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[40000,64] = aten.silu(%0)
int64_t k3_silu(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.silu -> f32[40000,64]
    const float v0 = b0[i0];
    const float v1 = v0 * ag_sigmoid_f32(v0);
    b1[i0] = v1;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4: f32[40000,64] = aten.sigmoid(%1)
// %5: f32[40000,64] = aten.mul.Tensor(%0, %4)
// %6: f32[40000,64] = aten.rsub.Scalar(%4, 1)
// %7: f32[40000,64] = aten.mul.Tensor(%1, %6)
// %8: f32[40000,64] = aten.add.Scalar(%7, 1)
// %2: f32[40000,64] = aten.mul.Tensor(%5, %8)
// %3: f32[625,1,64] = aten.sum.dim_IntList(%2)
int64_t k4_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  float* b3 = (float*)buffers[3];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 40000 * chunk / 625;
    const int64_t to = 40000 * (chunk + 1) / 625;
    float* acc0 = b3 + chunk * 64;
    for (int64_t j = 0; j < 64; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      const float v4 = 1.0f;
#pragma omp simd
      for (int64_t i1 = 0; i1 < 64; ++i1) {
        // aten.mul.Tensor -> f32[40000,64]
        const float v0 = b0[i0 * 64 + i1];
        // aten.sigmoid -> f32[40000,64]
        const float v1 = b1[i0 * 64 + i1];
        const float v2 = ag_sigmoid_f32(v1);
        // aten.mul.Tensor -> f32[40000,64]
        const float v3 = v0 * v2;
        // aten.rsub.Scalar -> f32[40000,64]
        const float v5 = v4 - v2;
        // aten.mul.Tensor -> f32[40000,64]
        const float v6 = v1 * v5;
        // aten.add.Scalar -> f32[40000,64]
        const float v7 = v6 + v4;
        // aten.mul.Tensor -> f32[40000,64]
        const float v8 = v3 * v7;
        b2[i0 * 64 + i1] = v8;
        // aten.sum.dim_IntList -> f32[625,1,64]
        acc0[i1] += v8;
      }
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[1,64] = aten.sum.dim_IntList(%0)
static inline __attribute__((always_inline)) int64_t k5_sum_strip(void* const* buffers, const int64_t* dims, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  double v2[64];
  for (int64_t l = 0; l < n; ++l) v2[l] = 0.0;
  for (int64_t i1 = 0; i1 < 625; ++i1) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i0 = first + l;
      // aten.sum.dim_IntList -> f32[1,64]
      const float v0 = b0[i0 + i1 * 64];
      const double v1 = (double)v0;
      v2[l] += v1;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.sum.dim_IntList -> f32[1,64]
    const float v3 = (float)v2[l];
    b1[i0] = v3;
  }
  return 0;
}

int64_t k5_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * 64;
    k5_sum_strip(buffers, dims, first, 64);
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6 = buffer 6
// %7 = buffer 7
// %8 = buffer 8
// %9 = buffer 9
// %10 = buffer 10
// %12: f32[40000,32] = aten.sub.Tensor(%11, %1)
// %13: f32[40000,32] = aten.pow.Tensor_Scalar(%12)
// %14: f32[40000,32] = aten.mul.Scalar(%13, -4)
// %15: f32[40000,32] = aten.exp(%14)
// %3: f32[40000,32] = aten.mul.Tensor(%15, %16)
// %17: f32[40000,32] = aten.mul.Tensor(%4, %15)
// %18: f32[40000,32] = aten.mul.Tensor(%4, %16)
// %19: f32[40000,1] = aten.sum.dim_IntList(%17)
// %20: f32[40000,32] = aten.mul.Tensor(%18, %15)
// %21: f32[40000,32] = aten.mul.Scalar(%20, -4)
// %22: f32[40000,32] = aten.pow.Tensor_Scalar(%12)
// %23: f32[40000,32] = aten.mul.Scalar(%22, 2)
// %24: f32[40000,32] = aten.mul.Tensor(%21, %23)
// %25: f32[40000,32] = aten.neg(%24)
// %26: f32[40000,1] = aten.sum.dim_IntList(%24)
// %5: f32[625,1,32] = aten.sum.dim_IntList(%25)
// %28: f32[40000] = aten.add.Tensor(%6, %27)
// %29: f32[40000] = aten.mul.Tensor(%28, %7)
// %30: f32[40000] = aten.mul.Scalar(%29, 0.5)
// %31: f32[40000] = aten.mul.Tensor(%30, %8)
// %32: f32[40000] = aten.div.Scalar(%31, 6)
// %33: f32[40000] = aten.mul.Scalar(%32, 3.14159265)
// %35: f32[40000] = aten.add.Tensor(%34, %33)
// %10: f32[40000] = aten.div.Tensor(%35, %9)
int64_t k6_div(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  const float* b6 = (const float*)buffers[6];
  const uint8_t* b7 = (const uint8_t*)buffers[7];
  const float* b8 = (const float*)buffers[8];
  const float* b9 = (const float*)buffers[9];
  float* b10 = (float*)buffers[10];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 40000 * chunk / 625;
    const int64_t to = 40000 * (chunk + 1) / 625;
    float* acc0 = b5 + chunk * 32;
    for (int64_t j = 0; j < 32; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      // aten.sub.Tensor -> f32[40000,32]
      const float v0 = b0[i0];
      // aten.mul.Tensor -> f32[40000,32]
      const float v7 = b2[i0];
      float v11 = 0.0f;
      float v18 = 0.0f;
      const float v4 = -4.0f;
      const float v15 = 2.0f;
#pragma omp simd reduction(+:v11) reduction(+:v18)
      for (int64_t i1 = 0; i1 < 32; ++i1) {
        // aten.sub.Tensor -> f32[40000,32]
        const float v1 = b1[i1];
        const float v2 = v0 - v1;
        // aten.pow.Tensor_Scalar -> f32[40000,32]
        const float v3 = v2 * v2;
        // aten.mul.Scalar -> f32[40000,32]
        const float v5 = v3 * v4;
        // aten.exp -> f32[40000,32]
        const float v6 = ag_exp_f32(v5);
        // aten.mul.Tensor -> f32[40000,32]
        const float v8 = v6 * v7;
        b3[i0 * 32 + i1] = v8;
        const float v9 = b4[i0 * 32 + i1];
        const float v10 = v9 * v6;
        // aten.sum.dim_IntList -> f32[40000,1]
        v11 += v10;
        // aten.mul.Tensor -> f32[40000,32]
        const float v12 = v9 * v7;
        const float v13 = v12 * v6;
        // aten.mul.Scalar -> f32[40000,32]
        const float v14 = v13 * v4;
        const float v16 = v2 * v15;
        // aten.mul.Tensor -> f32[40000,32]
        const float v17 = v14 * v16;
        // aten.sum.dim_IntList -> f32[40000,1]
        v18 += v17;
        // aten.neg -> f32[40000,32]
        const float v19 = -v17;
        // aten.sum.dim_IntList -> f32[625,1,32]
        acc0[i1] += v19;
      }
      // aten.add.Tensor -> f32[40000]
      const float v20 = b6[i0];
      const float v21 = v20 + v11;
      // aten.mul.Tensor -> f32[40000]
      const _Bool v22 = b7[i0] != 0;
      const float v23 = (float)v22;
      const float v24 = v21 * v23;
      const float v25 = 0.5f;
      // aten.mul.Scalar -> f32[40000]
      const float v26 = v24 * v25;
      // aten.mul.Tensor -> f32[40000]
      const float v27 = b8[i0];
      const float v28 = v26 * v27;
      const float v29 = 6.0f;
      // aten.div.Scalar -> f32[40000]
      const float v30 = v28 / v29;
      const float v31 = 3.1415927f;
      // aten.mul.Scalar -> f32[40000]
      const float v32 = v30 * v31;
      // aten.add.Tensor -> f32[40000]
      const float v33 = v18 + v32;
      // aten.div.Tensor -> f32[40000]
      const float v34 = b9[i0];
      const float v35 = v33 / v34;
      b10[i0] = v35;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[1,32] = aten.sum.dim_IntList(%0)
static inline __attribute__((always_inline)) int64_t k7_sum_strip(void* const* buffers, const int64_t* dims, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  double v2[32];
  for (int64_t l = 0; l < n; ++l) v2[l] = 0.0;
  for (int64_t i1 = 0; i1 < 625; ++i1) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i0 = first + l;
      // aten.sum.dim_IntList -> f32[1,32]
      const float v0 = b0[i0 + i1 * 32];
      const double v1 = (double)v0;
      v2[l] += v1;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.sum.dim_IntList -> f32[1,32]
    const float v3 = (float)v2[l];
    b1[i0] = v3;
  }
  return 0;
}

int64_t k7_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * 64;
    k7_sum_strip(buffers, dims, first, 32);
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3: bool[40000] = aten.ge.Scalar(%0, 1e-06)
// %2: f32[40000] = aten.where.self(%3, %1, %4)
int64_t k8_where(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  const float v1 = 1e-06f;
  const float v4 = 0.0f;
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.ge.Scalar -> bool[40000]
    const float v0 = b0[i0];
    const _Bool v2 = v0 >= v1;
    // aten.where.self -> f32[40000]
    const float v3 = b1[i0];
    const float v5 = v2 ? v3 : v4;
    b2[i0] = v5;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %6: f32[40000,3] = aten.index.Tensor(%5)
// %8: f32[40000,3] = aten.index.Tensor(%7)
// %9: f32[40000,3] = aten.sub.Tensor(%8, %6)
// %11: f32[40000,3] = aten.mul.Tensor(%10, %9)
// %3: f32[40000,3] = aten.add.Tensor(%11, %11)
// %4: f32[40000,3] = aten.neg(%3)
int64_t k9_neg(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const int64_t* b1 = (const int64_t*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  float* b4 = (float*)buffers[4];
  int64_t bad = 0;
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.mul.Tensor -> f32[40000,3]
    const float v0 = b0[i0];
    // aten.index.Tensor -> f32[40000,3]
    const int64_t v1 = b1[i0];
    const int64_t v3 = b1[i0 + 40000];
    bad |= ag_outside(v1, 2000, 1);
    const int64_t p1_0 = ag_position(v1, 2000, 1);
    bad |= ag_outside(v3, 2000, 1);
    const int64_t p3_1 = ag_position(v3, 2000, 1);
    for (int64_t i1 = 0; i1 < 3; ++i1) {
      // aten.index.Tensor -> f32[40000,3]
      const float v2 = b2[p1_0 * 3 + i1];
      const float v4 = b2[p3_1 * 3 + i1];
      // aten.sub.Tensor -> f32[40000,3]
      const float v5 = v2 - v4;
      // aten.mul.Tensor -> f32[40000,3]
      const float v6 = v0 * v5;
      // aten.add.Tensor -> f32[40000,3]
      const float v7 = v6 + v6;
      b3[i0 * 3 + i1] = v7;
      // aten.neg -> f32[40000,3]
      const float v8 = -v7;
      b4[i0 * 3 + i1] = v8;
    }
  }
  return bad;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %2: f32[2000,3] = aten.index_put(%3, %1)
int64_t k10_index_put(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const int64_t* b0 = (const int64_t*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  int64_t bad = 0;
  for (int64_t j = begin * 3; j < end * 3; ++j) b2[j] = 0;
  for (int64_t i0 = 0; i0 < 40000; ++i0) {
    // aten.index_put -> f32[2000,3]
    const int64_t v0 = b0[i0];
    bad |= ag_outside(v0, 2000, 1);
    const int64_t p0_0 = ag_position(v0, 2000, 1);
    if (begin <= p0_0 && p0_0 < end) {
      for (int64_t i1 = 0; i1 < 3; ++i1) {
        // aten.index_put -> f32[2000,3]
        const float v1 = b1[i0 * 3 + i1];
        b2[p0_0 * 3 + i1] += v1;
      }
    }
  }
  return bad;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %2: f32[2000,3] = aten.index_put(%3, %1)
int64_t k11_index_put(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const int64_t* b0 = (const int64_t*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  int64_t bad = 0;
  for (int64_t j = begin * 3; j < end * 3; ++j) b2[j] = 0;
  for (int64_t i0 = 0; i0 < 40000; ++i0) {
    // aten.index_put -> f32[2000,3]
    const int64_t v0 = b0[i0 + 40000];
    bad |= ag_outside(v0, 2000, 1);
    const int64_t p0_0 = ag_position(v0, 2000, 1);
    if (begin <= p0_0 && p0_0 < end) {
      for (int64_t i1 = 0; i1 < 3; ++i1) {
        // aten.index_put -> f32[2000,3]
        const float v1 = b1[i0 * 3 + i1];
        b2[p0_0 * 3 + i1] += v1;
      }
    }
  }
  return bad;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %2: f32[2000,3] = aten.add.Tensor(%0, %1)
int64_t k12_add(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.add.Tensor -> f32[2000,3]
    const float v0 = b0[i0];
    const float v1 = b1[i0];
    const float v2 = v0 + v1;
    b2[i0] = v2;
  }
  return 0;
}

