// mem, forward
//   kernel k0_sum: 32 units, 4 sections
//   kernel k1_div: 1 units, 2 sections
//   kernel k2_clone: 1024 units, 1 sections
//   kernel k2_clone: 1024 units, 1 sections
//   kernel k3_clone: 4194304 units, 1 sections

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6 = buffer 6
// %7 = buffer 7
// %8: f32[4096,1024] = aten.pow.Tensor_Scalar(%0)
// %9: f32[4096,1] = aten.sum.dim_IntList(%8)
// %10: f32[4096,1] = aten.div.Scalar(%9, 1024)
// %11: f32[4096,1] = aten.add.Scalar(%10, 1e-06)
// %1: f32[4096,1] = aten.rsqrt(%11)
// %12: f32[4096,1024] = aten.mul.Tensor(%0, %1)
// %13: f32[4096,1024] = aten.mul.Tensor(%12, %2)
// %14: f32[4096,1024] = aten.add.Tensor(%13, %3)
// %15: f32[4096,1024] = aten.sigmoid(%0)
// %16: f32[4096,1024] = aten.mul.Tensor(%14, %14)
// %17: f32[4096,1024] = aten.mul.Scalar(%16, 0.07135481627260025)
// %18: f32[4096,1024] = aten.add.Scalar(%17, 1.5957691216057308)
// %19: f32[4096,1024] = aten.mul.Tensor(%18, %14)
// %20: f32[4096,1024] = aten.sigmoid(%19)
// %21: f32[4096,1024] = aten.mul.Tensor(%14, %20)
// %22: f32[4096,1024] = aten.mul.Tensor(%21, %15)
// %23: f32[4096,1024] = antegrad.random_bernoulli(3865470567)
// %24: f32[4096,1024] = aten.div.Scalar(%23, 0.9)
// %25: f32[4096,1024] = aten.mul.Tensor(%22, %24)
// %6: f32[4096,1024] = aten.sub.Tensor(%25, %5)
// %26: f32[4096,1024] = aten.pow.Tensor_Scalar(%6)
// %7: f64[32] = aten.sum.dim_IntList(%26)
int64_t k0_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const int64_t* b4 = (const int64_t*)buffers[4];
  const float* b5 = (const float*)buffers[5];
  float* b6 = (float*)buffers[6];
  double* b7 = (double*)buffers[7];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 4096 * chunk / 32;
    const int64_t to = 4096 * (chunk + 1) / 32;
    double acc0 = 0.0;
    for (int64_t i0 = from; i0 < to; ++i0) {
      float v2 = 0.0f;
#pragma omp simd reduction(+:v2)
      for (int64_t i1 = 0; i1 < 1024; ++i1) {
        // aten.pow.Tensor_Scalar -> f32[4096,1024]
        const float v0 = b0[i0 * 1024 + i1];
        const float v1 = v0 * v0;
        // aten.sum.dim_IntList -> f32[4096,1]
        v2 += v1;
      }
      const float v3 = 1024.0f;
      // aten.div.Scalar -> f32[4096,1]
      const float v4 = v2 / v3;
      const float v5 = 1e-06f;
      // aten.add.Scalar -> f32[4096,1]
      const float v6 = v4 + v5;
      // aten.rsqrt -> f32[4096,1]
      const float v7 = ag_rsqrt_f32(v6);
      b1[i0] = v7;
      float v34 = 0.0f;
      const float v15 = 0.071354814f;
      const float v17 = 1.5957692f;
      const uint32_t v25 = 3865470567u;
      const float v28 = 0.9f;
      // antegrad.random_bernoulli -> f32[4096,1024]
      uint32_t r24[1024];
      ag_philox_row(r24, (uint64_t)b4[0], (uint64_t)b4[1] + 0, i0 * 1024 + 0, 1024);
#pragma omp simd reduction(+:v34)
      for (int64_t i1 = 0; i1 < 1024; ++i1) {
        // aten.mul.Tensor -> f32[4096,1024]
        const float v8 = b0[i0 * 1024 + i1];
        const float v9 = v8 * v7;
        const float v10 = b2[i1];
        const float v11 = v9 * v10;
        // aten.add.Tensor -> f32[4096,1024]
        const float v12 = b3[i1];
        const float v13 = v11 + v12;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v14 = v13 * v13;
        // aten.mul.Scalar -> f32[4096,1024]
        const float v16 = v14 * v15;
        // aten.add.Scalar -> f32[4096,1024]
        const float v18 = v16 + v17;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v19 = v18 * v13;
        // aten.sigmoid -> f32[4096,1024]
        const float v20 = ag_sigmoid_f32(v19);
        // aten.mul.Tensor -> f32[4096,1024]
        const float v21 = v13 * v20;
        // aten.sigmoid -> f32[4096,1024]
        const float v22 = ag_sigmoid_f32(v8);
        // aten.mul.Tensor -> f32[4096,1024]
        const float v23 = v21 * v22;
        // antegrad.random_bernoulli -> f32[4096,1024]
        const uint32_t v24 = r24[i1];
        const _Bool v26 = v24 < v25;
        const float v27 = (float)v26;
        // aten.div.Scalar -> f32[4096,1024]
        const float v29 = v27 / v28;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v30 = v23 * v29;
        // aten.sub.Tensor -> f32[4096,1024]
        const float v31 = b5[i0 * 1024 + i1];
        const float v32 = v30 - v31;
        b6[i0 * 1024 + i1] = v32;
        // aten.pow.Tensor_Scalar -> f32[4096,1024]
        const float v33 = v32 * v32;
        // aten.sum.dim_IntList -> f64[32]
        v34 += v33;
      }
      // aten.sum.dim_IntList -> f64[32]
      const double v35 = (double)v34;
      acc0 += v35;
    }
    b7[chunk] = acc0;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2: f32[] = aten.sum.dim_IntList(%0)
// %1: f32[] = aten.div.Scalar(%2, 4194304)
int64_t k1_div(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const double* b0 = (const double*)buffers[0];
  float* b1 = (float*)buffers[1];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    double v1 = 0.0;
#pragma omp simd reduction(+:v1)
    for (int64_t i1 = 0; i1 < 32; ++i1) {
      // aten.sum.dim_IntList -> f32[]
      const double v0 = b0[i1];
      v1 += v0;
    }
    // aten.sum.dim_IntList -> f32[]
    const float v2 = (float)v1;
    const float v3 = 4194304.0f;
    // aten.div.Scalar -> f32[]
    const float v4 = v2 / v3;
    b1[0] = v4;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[1024] = aten.clone(%0)
int64_t k2_clone(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.clone -> f32[1024]
    const float v0 = b0[i0];
    b1[i0] = v0;
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[4096,1024] = aten.clone(%0)
int64_t k3_clone(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
#pragma omp simd
  for (int64_t i0 = begin; i0 < end; ++i0) {
    // aten.clone -> f32[4096,1024]
    const float v0 = b0[i0];
    b1[i0] = v0;
  }
  return 0;
}

// mem, backward
//   kernel k0_sum: 64 units, 2 sections
//   kernel k1_sum: 16 units, 2 sections
//   kernel k1_sum: 16 units, 2 sections

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6 = buffer 6
// %7 = buffer 7
// %8 = buffer 8
// %10: f32[4096,1024] = aten.div.Scalar(%9, 4194304)
// %11: f32[4096,1024] = aten.pow.Tensor_Scalar(%1)
// %12: f32[4096,1024] = aten.mul.Scalar(%11, 2)
// %13: f32[4096,1024] = aten.mul.Tensor(%10, %12)
// %14: f32[4096,1024] = antegrad.random_bernoulli(3865470567)
// %15: f32[4096,1024] = aten.div.Scalar(%14, 0.9)
// %16: f32[4096,1024] = aten.mul.Tensor(%13, %15)
// %17: f32[4096,1024] = aten.sigmoid(%3)
// %18: f32[4096,1024] = aten.mul.Tensor(%16, %17)
// %19: f32[4096,1024] = aten.mul.Tensor(%3, %4)
// %20: f32[4096,1024] = aten.mul.Tensor(%19, %5)
// %21: f32[4096,1024] = aten.add.Tensor(%20, %6)
// %22: f32[4096,1024] = aten.mul.Tensor(%21, %21)
// %23: f32[4096,1024] = aten.mul.Scalar(%22, 0.07135481627260025)
// %24: f32[4096,1024] = aten.add.Scalar(%23, 1.5957691216057308)
// %25: f32[4096,1024] = aten.mul.Tensor(%24, %21)
// %26: f32[4096,1024] = aten.sigmoid(%25)
// %27: f32[4096,1024] = aten.mul.Tensor(%18, %26)
// %28: f32[4096,1024] = aten.rsub.Scalar(%26, 1)
// %29: f32[4096,1024] = aten.mul.Tensor(%21, %28)
// %30: f32[4096,1024] = aten.mul.Scalar(%22, 0.21406444881780076)
// %31: f32[4096,1024] = aten.add.Scalar(%30, 1.5957691216057308)
// %32: f32[4096,1024] = aten.mul.Tensor(%29, %31)
// %33: f32[4096,1024] = aten.add.Scalar(%32, 1)
// %34: f32[4096,1024] = aten.mul.Tensor(%27, %33)
// %7: f32[64,1,1024] = aten.sum.dim_IntList(%34)
// %35: f32[4096,1024] = aten.mul.Tensor(%34, %19)
// %8: f32[64,1,1024] = aten.sum.dim_IntList(%35)
int64_t k0_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const int64_t* b2 = (const int64_t*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  const float* b5 = (const float*)buffers[5];
  const float* b6 = (const float*)buffers[6];
  float* b7 = (float*)buffers[7];
  float* b8 = (float*)buffers[8];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 4096 * chunk / 64;
    const int64_t to = 4096 * (chunk + 1) / 64;
    float* acc0 = b7 + chunk * 1024;
    for (int64_t j = 0; j < 1024; ++j) acc0[j] = 0.0f;
    float* acc1 = b8 + chunk * 1024;
    for (int64_t j = 0; j < 1024; ++j) acc1[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      // aten.div.Scalar -> f32[4096,1024]
      const float v0 = b0[0];
      // aten.mul.Tensor -> f32[4096,1024]
      const float v17 = b4[i0];
      const float v1 = 4194304.0f;
      // aten.div.Scalar -> f32[4096,1024]
      const float v2 = v0 / v1;
      const float v4 = 2.0f;
      const uint32_t v8 = 3865470567u;
      const float v11 = 0.9f;
      const float v24 = 0.071354814f;
      const float v26 = 1.5957692f;
      const float v31 = 1.0f;
      const float v34 = 0.21406445f;
      // antegrad.random_bernoulli -> f32[4096,1024]
      uint32_t r7[1024];
      ag_philox_row(r7, (uint64_t)b2[0], (uint64_t)b2[1] + 0, i0 * 1024 + 0, 1024);
#pragma omp simd
      for (int64_t i1 = 0; i1 < 1024; ++i1) {
        // aten.pow.Tensor_Scalar -> f32[4096,1024]
        const float v3 = b1[i0 * 1024 + i1];
        // aten.mul.Scalar -> f32[4096,1024]
        const float v5 = v3 * v4;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v6 = v2 * v5;
        // antegrad.random_bernoulli -> f32[4096,1024]
        const uint32_t v7 = r7[i1];
        const _Bool v9 = v7 < v8;
        const float v10 = (float)v9;
        // aten.div.Scalar -> f32[4096,1024]
        const float v12 = v10 / v11;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v13 = v6 * v12;
        // aten.sigmoid -> f32[4096,1024]
        const float v14 = b3[i0 * 1024 + i1];
        const float v15 = ag_sigmoid_f32(v14);
        // aten.mul.Tensor -> f32[4096,1024]
        const float v16 = v13 * v15;
        const float v18 = v14 * v17;
        const float v19 = b5[i1];
        const float v20 = v18 * v19;
        // aten.add.Tensor -> f32[4096,1024]
        const float v21 = b6[i1];
        const float v22 = v20 + v21;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v23 = v22 * v22;
        // aten.mul.Scalar -> f32[4096,1024]
        const float v25 = v23 * v24;
        // aten.add.Scalar -> f32[4096,1024]
        const float v27 = v25 + v26;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v28 = v27 * v22;
        // aten.sigmoid -> f32[4096,1024]
        const float v29 = ag_sigmoid_f32(v28);
        // aten.mul.Tensor -> f32[4096,1024]
        const float v30 = v16 * v29;
        // aten.rsub.Scalar -> f32[4096,1024]
        const float v32 = v31 - v29;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v33 = v22 * v32;
        // aten.mul.Scalar -> f32[4096,1024]
        const float v35 = v23 * v34;
        // aten.add.Scalar -> f32[4096,1024]
        const float v36 = v35 + v26;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v37 = v33 * v36;
        // aten.add.Scalar -> f32[4096,1024]
        const float v38 = v37 + v31;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v39 = v30 * v38;
        // aten.sum.dim_IntList -> f32[64,1,1024]
        acc0[i1] += v39;
        // aten.mul.Tensor -> f32[4096,1024]
        const float v40 = v39 * v18;
        // aten.sum.dim_IntList -> f32[64,1,1024]
        acc1[i1] += v40;
      }
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[1,1024] = aten.sum.dim_IntList(%0)
static inline __attribute__((always_inline)) int64_t k1_sum_strip(void* const* buffers, const int64_t* dims, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  double v2[64];
  for (int64_t l = 0; l < n; ++l) v2[l] = 0.0;
  for (int64_t i1 = 0; i1 < 64; ++i1) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i0 = first + l;
      // aten.sum.dim_IntList -> f32[1,1024]
      const float v0 = b0[i0 + i1 * 1024];
      const double v1 = (double)v0;
      v2[l] += v1;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.sum.dim_IntList -> f32[1,1024]
    const float v3 = (float)v2[l];
    b1[i0] = v3;
  }
  return 0;
}

int64_t k1_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * 64;
    k1_sum_strip(buffers, dims, first, 64);
  }
  return 0;
}

