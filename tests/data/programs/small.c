// small, forward
//   kernel k0_add: 8 units, 5 sections
//   kernel k1_add: 128 units, 2 sections
//   kernel k2_add: 8 units, 5 sections
//   kernel k1_add: 128 units, 2 sections
//   kernel k2_add: 8 units, 5 sections
//   kernel k1_add: 128 units, 2 sections
//   kernel k2_add: 8 units, 5 sections
//   kernel k1_add: 128 units, 2 sections
//   kernel k3_div: 1 units, 2 sections

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4: f32[8,1] = aten.sum.dim_IntList(%0)
// %5: f32[8,1] = aten.div.Scalar(%4, 16)
// %6: f64[8,1] = aten._to_copy(%5)
// %7: f32[8,16] = aten.sub.Tensor(%0, %5)
// %8: f32[8,1] = aten.sum.dim_IntList(%7)
// %9: f64[8,1] = aten._to_copy(%8)
// %10: f64[8,1] = aten.div.Scalar(%9, 16)
// %11: f64[8,1] = aten.add.Tensor(%6, %10)
// %12: f32[8,1] = aten._to_copy(%11)
// %13: f32[8,16] = aten.sub.Tensor(%0, %12)
// %14: f32[8,16] = aten.mul.Tensor(%7, %7)
// %15: f32[8,1] = aten.sum.dim_IntList(%14)
// %16: f64[8,1] = aten._to_copy(%15)
// %17: f64[8,1] = aten.div.Scalar(%16, 16)
// %18: f64[8,1] = aten.mul.Tensor(%10, %10)
// %19: f64[8,1] = aten.sub.Tensor(%17, %18)
// %20: f64[8,1] = aten.clamp_min(%19, 0)
// %21: f32[8,1] = aten._to_copy(%20)
// %22: f32[8,1] = aten.add.Scalar(%21, 1e-05)
// %23: f32[8,1] = aten.rsqrt(%22)
// %24: f32[8,16] = aten.mul.Tensor(%13, %23)
// %25: f32[8,16] = aten.mul.Tensor(%24, %1)
// %3: f32[8,16] = aten.add.Tensor(%25, %2)
int64_t k0_add(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    float v1 = 0.0f;
#pragma omp simd reduction(+:v1)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.sum.dim_IntList -> f32[8,1]
      const float v0 = b0[i0 * 16 + i1];
      v1 += v0;
    }
    const float v3 = 16.0f;
    // aten.div.Scalar -> f32[8,1]
    const float v4 = v1 / v3;
    float v6 = 0.0f;
    float v8 = 0.0f;
#pragma omp simd reduction(+:v6) reduction(+:v8)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.sub.Tensor -> f32[8,16]
      const float v2 = b0[i0 * 16 + i1];
      const float v5 = v2 - v4;
      // aten.sum.dim_IntList -> f32[8,1]
      v6 += v5;
      // aten.mul.Tensor -> f32[8,16]
      const float v7 = v5 * v5;
      // aten.sum.dim_IntList -> f32[8,1]
      v8 += v7;
    }
    // aten._to_copy -> f64[8,1]
    const double v10 = (double)v4;
    const double v11 = (double)v6;
    const double v12 = 16.0;
    // aten.div.Scalar -> f64[8,1]
    const double v13 = v11 / v12;
    // aten.add.Tensor -> f64[8,1]
    const double v14 = v10 + v13;
    // aten._to_copy -> f32[8,1]
    const float v15 = (float)v14;
    // aten._to_copy -> f64[8,1]
    const double v17 = (double)v8;
    // aten.div.Scalar -> f64[8,1]
    const double v18 = v17 / v12;
    // aten.mul.Tensor -> f64[8,1]
    const double v19 = v13 * v13;
    // aten.sub.Tensor -> f64[8,1]
    const double v20 = v18 - v19;
    const double v21 = 0.0;
    // aten.clamp_min -> f64[8,1]
    const double v22 = ag_clamp_min_f64(v20, v21);
    // aten._to_copy -> f32[8,1]
    const float v23 = (float)v22;
    const float v24 = 1e-05f;
    // aten.add.Scalar -> f32[8,1]
    const float v25 = v23 + v24;
    // aten.rsqrt -> f32[8,1]
    const float v26 = ag_rsqrt_f32(v25);
#pragma omp simd
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.sub.Tensor -> f32[8,16]
      const float v9 = b0[i0 * 16 + i1];
      const float v16 = v9 - v15;
      // aten.mul.Tensor -> f32[8,16]
      const float v27 = v16 * v26;
      const float v28 = b1[i1];
      const float v29 = v27 * v28;
      // aten.add.Tensor -> f32[8,16]
      const float v30 = b2[i1];
      const float v31 = v29 + v30;
      b3[i0 * 16 + i1] = v31;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %6: f32[8,16,16] = aten.mul.Tensor(%4, %5)
// %7: f32[8,16] = aten.sum.dim_IntList(%6)
// %3: f32[8,16] = aten.add.Tensor(%7, %2)
int64_t k1_add(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  if (begin >= end) return 0;
  int64_t i1 = begin % 16;
  int64_t i0 = begin / 16;
  for (int64_t u = begin; u < end; ++u) {
    float v3 = 0.0f;
#pragma omp simd reduction(+:v3)
    for (int64_t i2 = 0; i2 < 16; ++i2) {
      // aten.mul.Tensor -> f32[8,16,16]
      const float v0 = b0[i0 * 16 + i2];
      const float v1 = b1[i1 * 16 + i2];
      const float v2 = v0 * v1;
      // aten.sum.dim_IntList -> f32[8,16]
      v3 += v2;
    }
    // aten.add.Tensor -> f32[8,16]
    const float v4 = b2[i1];
    const float v5 = v3 + v4;
    b3[i0 * 16 + i1] = v5;
    if (++i1 == 16) {
      i1 = 0;
      ++i0;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6: f32[8,16] = aten.silu(%1)
// %2: f32[8,16] = aten.add.Tensor(%0, %6)
// %7: f32[8,1] = aten.sum.dim_IntList(%2)
// %8: f32[8,1] = aten.div.Scalar(%7, 16)
// %9: f64[8,1] = aten._to_copy(%8)
// %10: f32[8,16] = aten.sub.Tensor(%2, %8)
// %11: f32[8,1] = aten.sum.dim_IntList(%10)
// %12: f64[8,1] = aten._to_copy(%11)
// %13: f64[8,1] = aten.div.Scalar(%12, 16)
// %14: f64[8,1] = aten.add.Tensor(%9, %13)
// %15: f32[8,1] = aten._to_copy(%14)
// %16: f32[8,16] = aten.sub.Tensor(%2, %15)
// %17: f32[8,16] = aten.mul.Tensor(%10, %10)
// %18: f32[8,1] = aten.sum.dim_IntList(%17)
// %19: f64[8,1] = aten._to_copy(%18)
// %20: f64[8,1] = aten.div.Scalar(%19, 16)
// %21: f64[8,1] = aten.mul.Tensor(%13, %13)
// %22: f64[8,1] = aten.sub.Tensor(%20, %21)
// %23: f64[8,1] = aten.clamp_min(%22, 0)
// %24: f32[8,1] = aten._to_copy(%23)
// %25: f32[8,1] = aten.add.Scalar(%24, 1e-05)
// %26: f32[8,1] = aten.rsqrt(%25)
// %27: f32[8,16] = aten.mul.Tensor(%16, %26)
// %28: f32[8,16] = aten.mul.Tensor(%27, %3)
// %5: f32[8,16] = aten.add.Tensor(%28, %4)
int64_t k2_add(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    float v4 = 0.0f;
#pragma omp simd reduction(+:v4)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v0 = b0[i0 * 16 + i1];
      // aten.silu -> f32[8,16]
      const float v1 = b1[i0 * 16 + i1];
      const float v2 = v1 * ag_sigmoid_f32(v1);
      // aten.add.Tensor -> f32[8,16]
      const float v3 = v0 + v2;
      b2[i0 * 16 + i1] = v3;
      // aten.sum.dim_IntList -> f32[8,1]
      v4 += v3;
    }
    const float v6 = 16.0f;
    // aten.div.Scalar -> f32[8,1]
    const float v7 = v4 / v6;
    float v9 = 0.0f;
    float v11 = 0.0f;
#pragma omp simd reduction(+:v9) reduction(+:v11)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v5 = b2[i0 * 16 + i1];
      // aten.sub.Tensor -> f32[8,16]
      const float v8 = v5 - v7;
      // aten.sum.dim_IntList -> f32[8,1]
      v9 += v8;
      // aten.mul.Tensor -> f32[8,16]
      const float v10 = v8 * v8;
      // aten.sum.dim_IntList -> f32[8,1]
      v11 += v10;
    }
    // aten._to_copy -> f64[8,1]
    const double v13 = (double)v7;
    const double v14 = (double)v9;
    const double v15 = 16.0;
    // aten.div.Scalar -> f64[8,1]
    const double v16 = v14 / v15;
    // aten.add.Tensor -> f64[8,1]
    const double v17 = v13 + v16;
    // aten._to_copy -> f32[8,1]
    const float v18 = (float)v17;
    // aten._to_copy -> f64[8,1]
    const double v20 = (double)v11;
    // aten.div.Scalar -> f64[8,1]
    const double v21 = v20 / v15;
    // aten.mul.Tensor -> f64[8,1]
    const double v22 = v16 * v16;
    // aten.sub.Tensor -> f64[8,1]
    const double v23 = v21 - v22;
    const double v24 = 0.0;
    // aten.clamp_min -> f64[8,1]
    const double v25 = ag_clamp_min_f64(v23, v24);
    // aten._to_copy -> f32[8,1]
    const float v26 = (float)v25;
    const float v27 = 1e-05f;
    // aten.add.Scalar -> f32[8,1]
    const float v28 = v26 + v27;
    // aten.rsqrt -> f32[8,1]
    const float v29 = ag_rsqrt_f32(v28);
#pragma omp simd
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v12 = b2[i0 * 16 + i1];
      // aten.sub.Tensor -> f32[8,16]
      const float v19 = v12 - v18;
      // aten.mul.Tensor -> f32[8,16]
      const float v30 = v19 * v29;
      const float v31 = b3[i1];
      const float v32 = v30 * v31;
      // aten.add.Tensor -> f32[8,16]
      const float v33 = b4[i1];
      const float v34 = v32 + v33;
      b5[i0 * 16 + i1] = v34;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4: f32[8,16] = aten.silu(%1)
// %5: f32[8,16] = aten.add.Tensor(%0, %4)
// %6: f32[8,16] = aten.sub.Tensor(%5, %2)
// %7: f32[8,16] = aten.mul.Tensor(%6, %6)
// %8: f32[] = aten.sum.dim_IntList(%7)
// %3: f32[] = aten.div.Scalar(%8, 128)
int64_t k3_div(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    float v7 = 0.0f;
#pragma omp simd reduction(+:v7)
    for (int64_t i1 = 0; i1 < 128; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v0 = b0[i1];
      // aten.silu -> f32[8,16]
      const float v1 = b1[i1];
      const float v2 = v1 * ag_sigmoid_f32(v1);
      // aten.add.Tensor -> f32[8,16]
      const float v3 = v0 + v2;
      // aten.sub.Tensor -> f32[8,16]
      const float v4 = b2[i1];
      const float v5 = v3 - v4;
      // aten.mul.Tensor -> f32[8,16]
      const float v6 = v5 * v5;
      // aten.sum.dim_IntList -> f32[]
      v7 += v6;
    }
    const float v8 = 128.0f;
    // aten.div.Scalar -> f32[]
    const float v9 = v7 / v8;
    b3[0] = v9;
  }
  return 0;
}

// small, backward
//   kernel k0_add: 1 units, 6 sections
//   kernel k1_mul: 8 units, 2 sections
//   kernel k2_sum: 16 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k4_sum: 1 units, 3 sections
//   kernel k1_mul: 8 units, 2 sections
//   kernel k2_sum: 16 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k4_sum: 1 units, 3 sections
//   kernel k1_mul: 8 units, 2 sections
//   kernel k2_sum: 16 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections
//   kernel k5_sum: 1 units, 3 sections
//   kernel k6_sum: 8 units, 2 sections
//   kernel k7_sum: 1 units, 5 sections
//   kernel k2_sum: 16 units, 2 sections
//   kernel k3_sum: 1 units, 2 sections

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
// %11 = buffer 11
// %12 = buffer 12
// %13 = buffer 13
// %14 = buffer 14
// %15 = buffer 15
// %16 = buffer 16
// %17 = buffer 17
// %18 = buffer 18
// %19 = buffer 19
// %20 = buffer 20
// %21 = buffer 21
// %22 = buffer 22
// %23 = buffer 23
// %24 = buffer 24
// %25: f32[8,16] = aten.silu(%0)
// %26: f32[8,16] = aten.add.Tensor(%3, %25)
// %27: f32[8,16] = aten.silu(%1)
// %28: f32[8,16] = aten.add.Tensor(%26, %27)
// %29: f32[8,16] = aten.silu(%2)
// %30: f32[8,16] = aten.add.Tensor(%28, %29)
// %31: f32[8,16] = aten.silu(%4)
// %32: f32[8,16] = aten.add.Tensor(%30, %31)
// %33: f32[8,16] = aten.sub.Tensor(%32, %5)
// %7: f32[8,16] = aten.mul.Tensor(%33, %34)
// %35: f32[8,16] = aten.sigmoid(%4)
// %36: f32[8,16] = aten.mul.Tensor(%7, %35)
// %37: f32[8,16] = aten.rsub.Scalar(%35, 1)
// %38: f32[8,16] = aten.mul.Tensor(%4, %37)
// %39: f32[8,16] = aten.add.Scalar(%38, 1)
// %8: f32[8,16] = aten.mul.Tensor(%36, %39)
// %40: f32[8,1] = aten.sum.dim_IntList(%30)
// %41: f32[8,1] = aten.div.Scalar(%40, 16)
// %42: f64[8,1] = aten._to_copy(%41)
// %43: f32[8,16] = aten.sub.Tensor(%30, %41)
// %44: f32[8,1] = aten.sum.dim_IntList(%43)
// %45: f64[8,1] = aten._to_copy(%44)
// %46: f64[8,1] = aten.div.Scalar(%45, 16)
// %47: f64[8,1] = aten.add.Tensor(%42, %46)
// %48: f32[8,1] = aten._to_copy(%47)
// %49: f32[8,16] = aten.sub.Tensor(%30, %48)
// %50: f32[8,16] = aten.mul.Tensor(%43, %43)
// %51: f32[8,1] = aten.sum.dim_IntList(%50)
// %52: f64[8,1] = aten._to_copy(%51)
// %53: f64[8,1] = aten.div.Scalar(%52, 16)
// %54: f64[8,1] = aten.mul.Tensor(%46, %46)
// %55: f64[8,1] = aten.sub.Tensor(%53, %54)
// %56: f64[8,1] = aten.clamp_min(%55, 0)
// %57: f32[8,1] = aten._to_copy(%56)
// %58: f32[8,1] = aten.add.Scalar(%57, 1e-05)
// %10: f32[8,1] = aten.rsqrt(%58)
// %11: f32[8,16] = aten.mul.Tensor(%49, %10)
// %59: f32[8,16] = aten.mul.Tensor(%11, %12)
// %14: f32[8,16] = aten.add.Tensor(%59, %13)
// %9: f32[1,16] = aten.sum.dim_IntList(%8)
// %60: f32[8,1] = aten.sum.dim_IntList(%28)
// %61: f32[8,1] = aten.div.Scalar(%60, 16)
// %62: f64[8,1] = aten._to_copy(%61)
// %63: f32[8,16] = aten.sub.Tensor(%28, %61)
// %64: f32[8,1] = aten.sum.dim_IntList(%63)
// %65: f64[8,1] = aten._to_copy(%64)
// %66: f64[8,1] = aten.div.Scalar(%65, 16)
// %67: f64[8,1] = aten.add.Tensor(%62, %66)
// %68: f32[8,1] = aten._to_copy(%67)
// %69: f32[8,16] = aten.sub.Tensor(%28, %68)
// %70: f32[8,16] = aten.mul.Tensor(%63, %63)
// %71: f32[8,1] = aten.sum.dim_IntList(%70)
// %72: f64[8,1] = aten._to_copy(%71)
// %73: f64[8,1] = aten.div.Scalar(%72, 16)
// %74: f64[8,1] = aten.mul.Tensor(%66, %66)
// %75: f64[8,1] = aten.sub.Tensor(%73, %74)
// %76: f64[8,1] = aten.clamp_min(%75, 0)
// %77: f32[8,1] = aten._to_copy(%76)
// %78: f32[8,1] = aten.add.Scalar(%77, 1e-05)
// %15: f32[8,1] = aten.rsqrt(%78)
// %16: f32[8,16] = aten.mul.Tensor(%69, %15)
// %79: f32[8,16] = aten.mul.Tensor(%16, %17)
// %19: f32[8,16] = aten.add.Tensor(%79, %18)
// %80: f32[8,1] = aten.sum.dim_IntList(%26)
// %81: f32[8,1] = aten.div.Scalar(%80, 16)
// %82: f64[8,1] = aten._to_copy(%81)
// %83: f32[8,16] = aten.sub.Tensor(%26, %81)
// %84: f32[8,1] = aten.sum.dim_IntList(%83)
// %85: f64[8,1] = aten._to_copy(%84)
// %86: f64[8,1] = aten.div.Scalar(%85, 16)
// %87: f64[8,1] = aten.add.Tensor(%82, %86)
// %88: f32[8,1] = aten._to_copy(%87)
// %89: f32[8,16] = aten.sub.Tensor(%26, %88)
// %90: f32[8,16] = aten.mul.Tensor(%83, %83)
// %91: f32[8,1] = aten.sum.dim_IntList(%90)
// %92: f64[8,1] = aten._to_copy(%91)
// %93: f64[8,1] = aten.div.Scalar(%92, 16)
// %94: f64[8,1] = aten.mul.Tensor(%86, %86)
// %95: f64[8,1] = aten.sub.Tensor(%93, %94)
// %96: f64[8,1] = aten.clamp_min(%95, 0)
// %97: f32[8,1] = aten._to_copy(%96)
// %98: f32[8,1] = aten.add.Scalar(%97, 1e-05)
// %20: f32[8,1] = aten.rsqrt(%98)
// %21: f32[8,16] = aten.mul.Tensor(%89, %20)
// %99: f32[8,16] = aten.mul.Tensor(%21, %22)
// %24: f32[8,16] = aten.add.Tensor(%99, %23)
int64_t k0_add(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  _Alignas(64) float b1[16];
  const float* b2 = (const float*)buffers[1];
  _Alignas(64) float b3[16];
  const float* b4 = (const float*)buffers[2];
  _Alignas(64) float b5[16];
  const float* b6 = (const float*)buffers[3];
  const float* b7 = (const float*)buffers[4];
  const float* b8 = (const float*)buffers[5];
  const float* b9 = (const float*)buffers[6];
  float* b10 = (float*)buffers[7];
  float* b11 = (float*)buffers[8];
  float* b12 = (float*)buffers[9];
  float* b13 = (float*)buffers[10];
  float* b14 = (float*)buffers[11];
  const float* b15 = (const float*)buffers[12];
  const float* b16 = (const float*)buffers[13];
  float* b17 = (float*)buffers[14];
  float* b18 = (float*)buffers[15];
  float* b19 = (float*)buffers[16];
  const float* b20 = (const float*)buffers[17];
  const float* b21 = (const float*)buffers[18];
  float* b22 = (float*)buffers[19];
  float* b23 = (float*)buffers[20];
  float* b24 = (float*)buffers[21];
  const float* b25 = (const float*)buffers[22];
  const float* b26 = (const float*)buffers[23];
  float* b27 = (float*)buffers[24];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 8 * chunk / 1;
    const int64_t to = 8 * (chunk + 1) / 1;
    float* acc0 = b12 + chunk * 16;
    for (int64_t j = 0; j < 16; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      // aten.mul.Tensor -> f32[8,16]
      const float v15 = b9[0];
      float v28 = 0.0f;
      float v29 = 0.0f;
      float v30 = 0.0f;
      const float v16 = 2.0f;
      // aten.mul.Tensor -> f32[8,16]
      const float v17 = v15 * v16;
      const float v18 = 128.0f;
      const float v19 = v17 / v18;
      const float v23 = 1.0f;
#pragma omp simd reduction(+:v28) reduction(+:v29) reduction(+:v30)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.silu -> f32[8,16]
        const float v0 = b0[i0 * 16 + i1];
        const float v1 = v0 * ag_sigmoid_f32(v0);
        b1[i1] = v1;
        const float v2 = b2[i0 * 16 + i1];
        const float v3 = v2 * ag_sigmoid_f32(v2);
        b3[i1] = v3;
        const float v4 = b4[i0 * 16 + i1];
        const float v5 = v4 * ag_sigmoid_f32(v4);
        b5[i1] = v5;
        // aten.add.Tensor -> f32[8,16]
        const float v6 = b6[i0 * 16 + i1];
        const float v7 = v6 + v1;
        const float v8 = v7 + v3;
        const float v9 = v8 + v5;
        // aten.silu -> f32[8,16]
        const float v10 = b7[i0 * 16 + i1];
        const float v11 = v10 * ag_sigmoid_f32(v10);
        // aten.add.Tensor -> f32[8,16]
        const float v12 = v9 + v11;
        // aten.sub.Tensor -> f32[8,16]
        const float v13 = b8[i0 * 16 + i1];
        const float v14 = v12 - v13;
        // aten.mul.Tensor -> f32[8,16]
        const float v20 = v14 * v19;
        b10[i0 * 16 + i1] = v20;
        // aten.sigmoid -> f32[8,16]
        const float v21 = ag_sigmoid_f32(v10);
        // aten.mul.Tensor -> f32[8,16]
        const float v22 = v20 * v21;
        // aten.rsub.Scalar -> f32[8,16]
        const float v24 = v23 - v21;
        // aten.mul.Tensor -> f32[8,16]
        const float v25 = v10 * v24;
        // aten.add.Scalar -> f32[8,16]
        const float v26 = v25 + v23;
        // aten.mul.Tensor -> f32[8,16]
        const float v27 = v22 * v26;
        b11[i0 * 16 + i1] = v27;
        // aten.sum.dim_IntList -> f32[8,1]
        v28 += v9;
        // aten.sum.dim_IntList -> f32[1,16]
        acc0[i1] += v27;
        // aten.sum.dim_IntList -> f32[8,1]
        v29 += v8;
        v30 += v7;
      }
      const float v38 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v39 = v28 / v38;
      const float v44 = v29 / v38;
      const float v49 = v30 / v38;
      float v41 = 0.0f;
      float v43 = 0.0f;
      float v46 = 0.0f;
      float v48 = 0.0f;
      float v51 = 0.0f;
      float v53 = 0.0f;
#pragma omp simd reduction(+:v41) reduction(+:v43) reduction(+:v46) reduction(+:v48) reduction(+:v51) reduction(+:v53)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.add.Tensor -> f32[8,16]
        const float v31 = b6[i0 * 16 + i1];
        // aten.silu -> f32[8,16]
        const float v32 = b1[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v33 = v31 + v32;
        // aten.silu -> f32[8,16]
        const float v34 = b3[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v35 = v33 + v34;
        // aten.silu -> f32[8,16]
        const float v36 = b5[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v37 = v35 + v36;
        // aten.sub.Tensor -> f32[8,16]
        const float v40 = v37 - v39;
        // aten.sum.dim_IntList -> f32[8,1]
        v41 += v40;
        // aten.mul.Tensor -> f32[8,16]
        const float v42 = v40 * v40;
        // aten.sum.dim_IntList -> f32[8,1]
        v43 += v42;
        // aten.sub.Tensor -> f32[8,16]
        const float v45 = v35 - v44;
        // aten.sum.dim_IntList -> f32[8,1]
        v46 += v45;
        // aten.mul.Tensor -> f32[8,16]
        const float v47 = v45 * v45;
        // aten.sum.dim_IntList -> f32[8,1]
        v48 += v47;
        // aten.sub.Tensor -> f32[8,16]
        const float v50 = v33 - v49;
        // aten.sum.dim_IntList -> f32[8,1]
        v51 += v50;
        // aten.mul.Tensor -> f32[8,16]
        const float v52 = v50 * v50;
        // aten.sum.dim_IntList -> f32[8,1]
        v53 += v52;
      }
      // aten._to_copy -> f64[8,1]
      const double v54 = (double)v43;
      const double v55 = 16.0;
      // aten.div.Scalar -> f64[8,1]
      const double v56 = v54 / v55;
      // aten._to_copy -> f64[8,1]
      const double v57 = (double)v41;
      // aten.div.Scalar -> f64[8,1]
      const double v58 = v57 / v55;
      // aten.mul.Tensor -> f64[8,1]
      const double v59 = v58 * v58;
      // aten.sub.Tensor -> f64[8,1]
      const double v60 = v56 - v59;
      const double v61 = 0.0;
      // aten.clamp_min -> f64[8,1]
      const double v62 = ag_clamp_min_f64(v60, v61);
      // aten._to_copy -> f32[8,1]
      const float v63 = (float)v62;
      const float v64 = 1e-05f;
      // aten.add.Scalar -> f32[8,1]
      const float v65 = v63 + v64;
      // aten.rsqrt -> f32[8,1]
      const float v66 = ag_rsqrt_f32(v65);
      b13[i0] = v66;
      // aten._to_copy -> f64[8,1]
      const double v74 = (double)v39;
      // aten.add.Tensor -> f64[8,1]
      const double v75 = v74 + v58;
      // aten._to_copy -> f32[8,1]
      const float v76 = (float)v75;
      // aten._to_copy -> f64[8,1]
      const double v83 = (double)v48;
      // aten.div.Scalar -> f64[8,1]
      const double v84 = v83 / v55;
      // aten._to_copy -> f64[8,1]
      const double v85 = (double)v46;
      // aten.div.Scalar -> f64[8,1]
      const double v86 = v85 / v55;
      // aten.mul.Tensor -> f64[8,1]
      const double v87 = v86 * v86;
      // aten.sub.Tensor -> f64[8,1]
      const double v88 = v84 - v87;
      // aten.clamp_min -> f64[8,1]
      const double v89 = ag_clamp_min_f64(v88, v61);
      // aten._to_copy -> f32[8,1]
      const float v90 = (float)v89;
      // aten.add.Scalar -> f32[8,1]
      const float v91 = v90 + v64;
      // aten.rsqrt -> f32[8,1]
      const float v92 = ag_rsqrt_f32(v91);
      b18[i0] = v92;
      // aten._to_copy -> f64[8,1]
      const double v93 = (double)v44;
      // aten.add.Tensor -> f64[8,1]
      const double v94 = v93 + v86;
      // aten._to_copy -> f32[8,1]
      const float v95 = (float)v94;
      // aten._to_copy -> f64[8,1]
      const double v102 = (double)v53;
      // aten.div.Scalar -> f64[8,1]
      const double v103 = v102 / v55;
      // aten._to_copy -> f64[8,1]
      const double v104 = (double)v51;
      // aten.div.Scalar -> f64[8,1]
      const double v105 = v104 / v55;
      // aten.mul.Tensor -> f64[8,1]
      const double v106 = v105 * v105;
      // aten.sub.Tensor -> f64[8,1]
      const double v107 = v103 - v106;
      // aten.clamp_min -> f64[8,1]
      const double v108 = ag_clamp_min_f64(v107, v61);
      // aten._to_copy -> f32[8,1]
      const float v109 = (float)v108;
      // aten.add.Scalar -> f32[8,1]
      const float v110 = v109 + v64;
      // aten.rsqrt -> f32[8,1]
      const float v111 = ag_rsqrt_f32(v110);
      b23[i0] = v111;
      // aten._to_copy -> f64[8,1]
      const double v112 = (double)v49;
      // aten.add.Tensor -> f64[8,1]
      const double v113 = v112 + v105;
      // aten._to_copy -> f32[8,1]
      const float v114 = (float)v113;
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.add.Tensor -> f32[8,16]
        const float v67 = b6[i0 * 16 + i1];
        // aten.silu -> f32[8,16]
        const float v68 = b1[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v69 = v67 + v68;
        // aten.silu -> f32[8,16]
        const float v70 = b3[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v71 = v69 + v70;
        // aten.silu -> f32[8,16]
        const float v72 = b5[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v73 = v71 + v72;
        // aten.sub.Tensor -> f32[8,16]
        const float v77 = v73 - v76;
        // aten.mul.Tensor -> f32[8,16]
        const float v78 = v77 * v66;
        b14[i0 * 16 + i1] = v78;
        const float v79 = b15[i1];
        const float v80 = v78 * v79;
        // aten.add.Tensor -> f32[8,16]
        const float v81 = b16[i1];
        const float v82 = v80 + v81;
        b17[i0 * 16 + i1] = v82;
        // aten.sub.Tensor -> f32[8,16]
        const float v96 = v71 - v95;
        // aten.mul.Tensor -> f32[8,16]
        const float v97 = v96 * v92;
        b19[i0 * 16 + i1] = v97;
        const float v98 = b20[i1];
        const float v99 = v97 * v98;
        // aten.add.Tensor -> f32[8,16]
        const float v100 = b21[i1];
        const float v101 = v99 + v100;
        b22[i0 * 16 + i1] = v101;
        // aten.sub.Tensor -> f32[8,16]
        const float v115 = v69 - v114;
        // aten.mul.Tensor -> f32[8,16]
        const float v116 = v115 * v111;
        b24[i0 * 16 + i1] = v116;
        const float v117 = b25[i1];
        const float v118 = v116 * v117;
        // aten.add.Tensor -> f32[8,16]
        const float v119 = b26[i1];
        const float v120 = v118 + v119;
        b27[i0 * 16 + i1] = v120;
      }
    }
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
// %10: f32[8,16,16] = aten.mul.Tensor(%8, %9)
// %2: f32[8,16] = aten.sum.dim_IntList(%10)
// %4: f32[8,16] = aten.mul.Tensor(%2, %3)
// %6: f32[8,16] = aten.mul.Tensor(%4, %5)
// %7: f32[8,16] = aten.mul.Tensor(%2, %5)
static inline __attribute__((always_inline)) int64_t k1_mul_strip(void* const* buffers, const int64_t* dims, int64_t i0, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  float* b4 = (float*)buffers[4];
  const float* b5 = (const float*)buffers[5];
  float* b6 = (float*)buffers[6];
  float* b7 = (float*)buffers[7];
  float v3[16];
  for (int64_t l = 0; l < n; ++l) v3[l] = 0.0f;
  for (int64_t i2 = 0; i2 < 16; ++i2) {
    // aten.mul.Tensor -> f32[8,16,16]
    const float v0 = b0[i0 * 16 + i2];
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v1 = b1[i1 + i2 * 16];
      const float v2 = v0 * v1;
      // aten.sum.dim_IntList -> f32[8,16]
      v3[l] += v2;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i1 = first + l;
    // aten.sum.dim_IntList -> f32[8,16]
    b2[i0 * 16 + i1] = v3[l];
    // aten.mul.Tensor -> f32[8,16]
    const float v4 = b3[i1];
    const float v5 = v3[l] * v4;
    b4[i0 * 16 + i1] = v5;
    const float v6 = b5[i0 * 16 + i1];
    const float v7 = v5 * v6;
    b6[i0 * 16 + i1] = v7;
    const float v8 = v3[l] * v6;
    b7[i0 * 16 + i1] = v8;
  }
  return 0;
}

int64_t k1_mul(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  int64_t strip = begin % 1;
  int64_t i0 = begin / 1;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t first = strip * 64;
    k1_mul_strip(buffers, dims, i0, first, 16);
    if (++strip == 1) {
      strip = 0;
      ++i0;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %5: f32[16,8,16]{16,256,1} = aten.mul.Tensor(%3, %4)
// %2: f32[16,16] = aten.sum.dim_IntList(%5)
static inline __attribute__((always_inline)) int64_t k2_sum_strip(void* const* buffers, const int64_t* dims, int64_t i0, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  float v3[16];
  for (int64_t l = 0; l < n; ++l) v3[l] = 0.0f;
  for (int64_t i2 = 0; i2 < 8; ++i2) {
    // aten.mul.Tensor -> f32[16,8,16]{16,256,1}
    const float v0 = b0[i0 + i2 * 16];
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v1 = b1[i1 + i2 * 16];
      const float v2 = v0 * v1;
      // aten.sum.dim_IntList -> f32[16,16]
      v3[l] += v2;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i1 = first + l;
    // aten.sum.dim_IntList -> f32[16,16]
    b2[i0 * 16 + i1] = v3[l];
  }
  return 0;
}

int64_t k2_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  int64_t strip = begin % 1;
  int64_t i0 = begin / 1;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t first = strip * 64;
    k2_sum_strip(buffers, dims, i0, first, 16);
    if (++strip == 1) {
      strip = 0;
      ++i0;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %1: f32[16] = aten.sum.dim_IntList(%0)
static inline __attribute__((always_inline)) int64_t k3_sum_strip(void* const* buffers, const int64_t* dims, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  float v1[16];
  for (int64_t l = 0; l < n; ++l) v1[l] = 0.0f;
  for (int64_t i1 = 0; i1 < 8; ++i1) {
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i0 = first + l;
      // aten.sum.dim_IntList -> f32[16]
      const float v0 = b0[i0 + i1 * 16];
      v1[l] += v0;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i0 = first + l;
    // aten.sum.dim_IntList -> f32[16]
    b1[i0] = v1[l];
  }
  return 0;
}

int64_t k3_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t first = strip * 64;
    k3_sum_strip(buffers, dims, first, 16);
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
// %9: f32[8,1] = aten.sum.dim_IntList(%0)
// %10: f32[8,1] = aten.div.Scalar(%9, 16)
// %11: f32[8,16] = aten.sub.Tensor(%0, %10)
// %12: f32[8,1] = aten.sum.dim_IntList(%1)
// %13: f32[8,1] = aten.div.Scalar(%12, 16)
// %14: f32[8,16] = aten.mul.Tensor(%3, %13)
// %15: f32[8,16] = aten.sub.Tensor(%11, %14)
// %16: f32[8,16] = aten.mul.Tensor(%15, %4)
// %5: f32[8,16] = aten.add.Tensor(%2, %16)
// %17: f32[8,16] = aten.sigmoid(%6)
// %18: f32[8,16] = aten.mul.Tensor(%5, %17)
// %19: f32[8,16] = aten.rsub.Scalar(%17, 1)
// %20: f32[8,16] = aten.mul.Tensor(%6, %19)
// %21: f32[8,16] = aten.add.Scalar(%20, 1)
// %7: f32[8,16] = aten.mul.Tensor(%18, %21)
// %8: f32[1,16] = aten.sum.dim_IntList(%7)
int64_t k4_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  const float* b6 = (const float*)buffers[6];
  float* b7 = (float*)buffers[7];
  float* b8 = (float*)buffers[8];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 8 * chunk / 1;
    const int64_t to = 8 * (chunk + 1) / 1;
    float* acc0 = b8 + chunk * 16;
    for (int64_t j = 0; j < 16; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      float v1 = 0.0f;
      float v3 = 0.0f;
#pragma omp simd reduction(+:v1) reduction(+:v3)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sum.dim_IntList -> f32[8,1]
        const float v0 = b0[i0 * 16 + i1];
        v1 += v0;
        const float v2 = b1[i0 * 16 + i1];
        v3 += v2;
      }
      const float v6 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v7 = v1 / v6;
      const float v10 = v3 / v6;
      // aten.mul.Tensor -> f32[8,16]
      const float v13 = b4[i0];
      const float v19 = 1.0f;
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.add.Tensor -> f32[8,16]
        const float v4 = b2[i0 * 16 + i1];
        // aten.sub.Tensor -> f32[8,16]
        const float v5 = b0[i0 * 16 + i1];
        const float v8 = v5 - v7;
        // aten.mul.Tensor -> f32[8,16]
        const float v9 = b3[i0 * 16 + i1];
        const float v11 = v9 * v10;
        // aten.sub.Tensor -> f32[8,16]
        const float v12 = v8 - v11;
        // aten.mul.Tensor -> f32[8,16]
        const float v14 = v12 * v13;
        // aten.add.Tensor -> f32[8,16]
        const float v15 = v4 + v14;
        b5[i0 * 16 + i1] = v15;
        // aten.sigmoid -> f32[8,16]
        const float v16 = b6[i0 * 16 + i1];
        const float v17 = ag_sigmoid_f32(v16);
        // aten.mul.Tensor -> f32[8,16]
        const float v18 = v15 * v17;
        // aten.rsub.Scalar -> f32[8,16]
        const float v20 = v19 - v17;
        // aten.mul.Tensor -> f32[8,16]
        const float v21 = v16 * v20;
        // aten.add.Scalar -> f32[8,16]
        const float v22 = v21 + v19;
        // aten.mul.Tensor -> f32[8,16]
        const float v23 = v18 * v22;
        b7[i0 * 16 + i1] = v23;
        // aten.sum.dim_IntList -> f32[1,16]
        acc0[i1] += v23;
      }
    }
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
// %8: f32[8,1] = aten.sum.dim_IntList(%0)
// %9: f32[8,1] = aten.div.Scalar(%8, 16)
// %10: f32[8,16] = aten.sub.Tensor(%0, %9)
// %11: f32[8,1] = aten.sum.dim_IntList(%1)
// %12: f32[8,1] = aten.div.Scalar(%11, 16)
// %13: f32[8,16] = aten.mul.Tensor(%3, %12)
// %14: f32[8,16] = aten.sub.Tensor(%10, %13)
// %15: f32[8,16] = aten.mul.Tensor(%14, %4)
// %16: f32[8,16] = aten.add.Tensor(%2, %15)
// %17: f32[8,16] = aten.sigmoid(%5)
// %18: f32[8,16] = aten.mul.Tensor(%16, %17)
// %19: f32[8,16] = aten.rsub.Scalar(%17, 1)
// %20: f32[8,16] = aten.mul.Tensor(%5, %19)
// %21: f32[8,16] = aten.add.Scalar(%20, 1)
// %6: f32[8,16] = aten.mul.Tensor(%18, %21)
// %7: f32[1,16] = aten.sum.dim_IntList(%6)
int64_t k5_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  const float* b3 = (const float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  const float* b5 = (const float*)buffers[5];
  float* b6 = (float*)buffers[6];
  float* b7 = (float*)buffers[7];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 8 * chunk / 1;
    const int64_t to = 8 * (chunk + 1) / 1;
    float* acc0 = b7 + chunk * 16;
    for (int64_t j = 0; j < 16; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      float v1 = 0.0f;
      float v3 = 0.0f;
#pragma omp simd reduction(+:v1) reduction(+:v3)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sum.dim_IntList -> f32[8,1]
        const float v0 = b0[i0 * 16 + i1];
        v1 += v0;
        const float v2 = b1[i0 * 16 + i1];
        v3 += v2;
      }
      const float v6 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v7 = v1 / v6;
      const float v10 = v3 / v6;
      // aten.mul.Tensor -> f32[8,16]
      const float v13 = b4[i0];
      const float v19 = 1.0f;
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.add.Tensor -> f32[8,16]
        const float v4 = b2[i0 * 16 + i1];
        // aten.sub.Tensor -> f32[8,16]
        const float v5 = b0[i0 * 16 + i1];
        const float v8 = v5 - v7;
        // aten.mul.Tensor -> f32[8,16]
        const float v9 = b3[i0 * 16 + i1];
        const float v11 = v9 * v10;
        // aten.sub.Tensor -> f32[8,16]
        const float v12 = v8 - v11;
        // aten.mul.Tensor -> f32[8,16]
        const float v14 = v12 * v13;
        // aten.add.Tensor -> f32[8,16]
        const float v15 = v4 + v14;
        // aten.sigmoid -> f32[8,16]
        const float v16 = b5[i0 * 16 + i1];
        const float v17 = ag_sigmoid_f32(v16);
        // aten.mul.Tensor -> f32[8,16]
        const float v18 = v15 * v17;
        // aten.rsub.Scalar -> f32[8,16]
        const float v20 = v19 - v17;
        // aten.mul.Tensor -> f32[8,16]
        const float v21 = v16 * v20;
        // aten.add.Scalar -> f32[8,16]
        const float v22 = v21 + v19;
        // aten.mul.Tensor -> f32[8,16]
        const float v23 = v18 * v22;
        b6[i0 * 16 + i1] = v23;
        // aten.sum.dim_IntList -> f32[1,16]
        acc0[i1] += v23;
      }
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %5: f32[8,16,16] = aten.mul.Tensor(%3, %4)
// %2: f32[8,16] = aten.sum.dim_IntList(%5)
static inline __attribute__((always_inline)) int64_t k6_sum_strip(void* const* buffers, const int64_t* dims, int64_t i0, int64_t first, int64_t n) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  float* b2 = (float*)buffers[2];
  float v3[16];
  for (int64_t l = 0; l < n; ++l) v3[l] = 0.0f;
  for (int64_t i2 = 0; i2 < 16; ++i2) {
    // aten.mul.Tensor -> f32[8,16,16]
    const float v0 = b0[i0 * 16 + i2];
#pragma omp simd
    for (int64_t l = 0; l < n; ++l) {
      const int64_t i1 = first + l;
      const float v1 = b1[i1 + i2 * 16];
      const float v2 = v0 * v1;
      // aten.sum.dim_IntList -> f32[8,16]
      v3[l] += v2;
    }
  }
#pragma omp simd
  for (int64_t l = 0; l < n; ++l) {
    const int64_t i1 = first + l;
    // aten.sum.dim_IntList -> f32[8,16]
    b2[i0 * 16 + i1] = v3[l];
  }
  return 0;
}

int64_t k6_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  if (begin >= end) return 0;
  int64_t strip = begin % 1;
  int64_t i0 = begin / 1;
  for (int64_t u = begin; u < end; ++u) {
    const int64_t first = strip * 64;
    k6_sum_strip(buffers, dims, i0, first, 16);
    if (++strip == 1) {
      strip = 0;
      ++i0;
    }
  }
  return 0;
}

// %0 = buffer 0
// %1 = buffer 1
// %2 = buffer 2
// %3 = buffer 3
// %4 = buffer 4
// %5 = buffer 5
// %6: f32[8,1] = aten.sum.dim_IntList(%0)
// %7: f32[8,1] = aten.div.Scalar(%6, 16)
// %8: f64[8,1] = aten._to_copy(%7)
// %9: f32[8,16] = aten.sub.Tensor(%0, %7)
// %10: f32[8,1] = aten.sum.dim_IntList(%9)
// %11: f64[8,1] = aten._to_copy(%10)
// %12: f64[8,1] = aten.div.Scalar(%11, 16)
// %13: f64[8,1] = aten.add.Tensor(%8, %12)
// %14: f32[8,1] = aten._to_copy(%13)
// %15: f32[8,16] = aten.sub.Tensor(%0, %14)
// %16: f32[8,16] = aten.mul.Tensor(%9, %9)
// %17: f32[8,1] = aten.sum.dim_IntList(%16)
// %18: f64[8,1] = aten._to_copy(%17)
// %19: f64[8,1] = aten.div.Scalar(%18, 16)
// %20: f64[8,1] = aten.mul.Tensor(%12, %12)
// %21: f64[8,1] = aten.sub.Tensor(%19, %20)
// %22: f64[8,1] = aten.clamp_min(%21, 0)
// %23: f32[8,1] = aten._to_copy(%22)
// %24: f32[8,1] = aten.add.Scalar(%23, 1e-05)
// %25: f32[8,1] = aten.rsqrt(%24)
// %26: f32[8,16] = aten.mul.Tensor(%15, %25)
// %27: f32[8,16] = aten.mul.Tensor(%26, %1)
// %3: f32[8,16] = aten.add.Tensor(%27, %2)
// %28: f32[8,16] = aten.mul.Tensor(%4, %26)
// %5: f32[16] = aten.sum.dim_IntList(%28)
int64_t k7_sum(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  const float* b1 = (const float*)buffers[1];
  const float* b2 = (const float*)buffers[2];
  float* b3 = (float*)buffers[3];
  const float* b4 = (const float*)buffers[4];
  float* b5 = (float*)buffers[5];
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const int64_t from = 8 * chunk / 1;
    const int64_t to = 8 * (chunk + 1) / 1;
    float* acc0 = b5 + chunk * 16;
    for (int64_t j = 0; j < 16; ++j) acc0[j] = 0.0f;
    for (int64_t i0 = from; i0 < to; ++i0) {
      float v1 = 0.0f;
#pragma omp simd reduction(+:v1)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sum.dim_IntList -> f32[8,1]
        const float v0 = b0[i0 * 16 + i1];
        v1 += v0;
      }
      const float v3 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v4 = v1 / v3;
      float v6 = 0.0f;
      float v8 = 0.0f;
#pragma omp simd reduction(+:v6) reduction(+:v8)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sub.Tensor -> f32[8,16]
        const float v2 = b0[i0 * 16 + i1];
        const float v5 = v2 - v4;
        // aten.sum.dim_IntList -> f32[8,1]
        v6 += v5;
        // aten.mul.Tensor -> f32[8,16]
        const float v7 = v5 * v5;
        // aten.sum.dim_IntList -> f32[8,1]
        v8 += v7;
      }
      // aten._to_copy -> f64[8,1]
      const double v10 = (double)v4;
      const double v11 = (double)v6;
      const double v12 = 16.0;
      // aten.div.Scalar -> f64[8,1]
      const double v13 = v11 / v12;
      // aten.add.Tensor -> f64[8,1]
      const double v14 = v10 + v13;
      // aten._to_copy -> f32[8,1]
      const float v15 = (float)v14;
      // aten._to_copy -> f64[8,1]
      const double v17 = (double)v8;
      // aten.div.Scalar -> f64[8,1]
      const double v18 = v17 / v12;
      // aten.mul.Tensor -> f64[8,1]
      const double v19 = v13 * v13;
      // aten.sub.Tensor -> f64[8,1]
      const double v20 = v18 - v19;
      const double v21 = 0.0;
      // aten.clamp_min -> f64[8,1]
      const double v22 = ag_clamp_min_f64(v20, v21);
      // aten._to_copy -> f32[8,1]
      const float v23 = (float)v22;
      const float v24 = 1e-05f;
      // aten.add.Scalar -> f32[8,1]
      const float v25 = v23 + v24;
      // aten.rsqrt -> f32[8,1]
      const float v26 = ag_rsqrt_f32(v25);
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sub.Tensor -> f32[8,16]
        const float v9 = b0[i0 * 16 + i1];
        const float v16 = v9 - v15;
        // aten.mul.Tensor -> f32[8,16]
        const float v27 = v16 * v26;
        const float v28 = b1[i1];
        const float v29 = v27 * v28;
        // aten.add.Tensor -> f32[8,16]
        const float v30 = b2[i1];
        const float v31 = v29 + v30;
        b3[i0 * 16 + i1] = v31;
        // aten.mul.Tensor -> f32[8,16]
        const float v32 = b4[i0 * 16 + i1];
        const float v33 = v32 * v27;
        // aten.sum.dim_IntList -> f32[16]
        acc0[i1] += v33;
      }
    }
  }
  return 0;
}

