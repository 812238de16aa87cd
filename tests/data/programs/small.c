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
// %6: f32[8,16] = aten.sub.Tensor(%0, %5)
// %7: f32[8,16] = aten.mul.Tensor(%6, %6)
// %8: f32[8,1] = aten.sum.dim_IntList(%7)
// %9: f32[8,1] = aten.div.Scalar(%8, 16)
// %10: f32[8,1] = aten.add.Scalar(%9, 1e-05)
// %11: f32[8,1] = aten.rsqrt(%10)
// %12: f32[8,16] = aten.mul.Tensor(%6, %11)
// %13: f32[8,16] = aten.mul.Tensor(%12, %1)
// %3: f32[8,16] = aten.add.Tensor(%13, %2)
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
    float v7 = 0.0f;
#pragma omp simd reduction(+:v7)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.sub.Tensor -> f32[8,16]
      const float v2 = b0[i0 * 16 + i1];
      const float v5 = v2 - v4;
      // aten.mul.Tensor -> f32[8,16]
      const float v6 = v5 * v5;
      // aten.sum.dim_IntList -> f32[8,1]
      v7 += v6;
    }
    const float v10 = 16.0f;
    // aten.div.Scalar -> f32[8,1]
    const float v11 = v7 / v10;
    const float v12 = 1e-05f;
    // aten.add.Scalar -> f32[8,1]
    const float v13 = v11 + v12;
    // aten.rsqrt -> f32[8,1]
    const float v14 = ag_rsqrt_f32(v13);
#pragma omp simd
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.sub.Tensor -> f32[8,16]
      const float v8 = b0[i0 * 16 + i1];
      const float v9 = v8 - v4;
      // aten.mul.Tensor -> f32[8,16]
      const float v15 = v9 * v14;
      const float v16 = b1[i1];
      const float v17 = v15 * v16;
      // aten.add.Tensor -> f32[8,16]
      const float v18 = b2[i1];
      const float v19 = v17 + v18;
      b3[i0 * 16 + i1] = v19;
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
// %9: f32[8,16] = aten.sub.Tensor(%2, %8)
// %10: f32[8,16] = aten.mul.Tensor(%9, %9)
// %11: f32[8,1] = aten.sum.dim_IntList(%10)
// %12: f32[8,1] = aten.div.Scalar(%11, 16)
// %13: f32[8,1] = aten.add.Scalar(%12, 1e-05)
// %14: f32[8,1] = aten.rsqrt(%13)
// %15: f32[8,16] = aten.mul.Tensor(%9, %14)
// %16: f32[8,16] = aten.mul.Tensor(%15, %3)
// %5: f32[8,16] = aten.add.Tensor(%16, %4)
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
    float v10 = 0.0f;
#pragma omp simd reduction(+:v10)
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v5 = b2[i0 * 16 + i1];
      // aten.sub.Tensor -> f32[8,16]
      const float v8 = v5 - v7;
      // aten.mul.Tensor -> f32[8,16]
      const float v9 = v8 * v8;
      // aten.sum.dim_IntList -> f32[8,1]
      v10 += v9;
    }
    const float v13 = 16.0f;
    // aten.div.Scalar -> f32[8,1]
    const float v14 = v10 / v13;
    const float v15 = 1e-05f;
    // aten.add.Scalar -> f32[8,1]
    const float v16 = v14 + v15;
    // aten.rsqrt -> f32[8,1]
    const float v17 = ag_rsqrt_f32(v16);
#pragma omp simd
    for (int64_t i1 = 0; i1 < 16; ++i1) {
      // aten.add.Tensor -> f32[8,16]
      const float v11 = b2[i0 * 16 + i1];
      // aten.sub.Tensor -> f32[8,16]
      const float v12 = v11 - v7;
      // aten.mul.Tensor -> f32[8,16]
      const float v18 = v12 * v17;
      const float v19 = b3[i1];
      const float v20 = v18 * v19;
      // aten.add.Tensor -> f32[8,16]
      const float v21 = b4[i1];
      const float v22 = v20 + v21;
      b5[i0 * 16 + i1] = v22;
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
// %42: f32[8,16] = aten.sub.Tensor(%30, %41)
// %43: f32[8,16] = aten.mul.Tensor(%42, %42)
// %44: f32[8,1] = aten.sum.dim_IntList(%43)
// %45: f32[8,1] = aten.div.Scalar(%44, 16)
// %46: f32[8,1] = aten.add.Scalar(%45, 1e-05)
// %10: f32[8,1] = aten.rsqrt(%46)
// %11: f32[8,16] = aten.mul.Tensor(%42, %10)
// %47: f32[8,16] = aten.mul.Tensor(%11, %12)
// %14: f32[8,16] = aten.add.Tensor(%47, %13)
// %9: f32[1,16] = aten.sum.dim_IntList(%8)
// %48: f32[8,1] = aten.sum.dim_IntList(%28)
// %49: f32[8,1] = aten.div.Scalar(%48, 16)
// %50: f32[8,16] = aten.sub.Tensor(%28, %49)
// %51: f32[8,16] = aten.mul.Tensor(%50, %50)
// %52: f32[8,1] = aten.sum.dim_IntList(%51)
// %53: f32[8,1] = aten.div.Scalar(%52, 16)
// %54: f32[8,1] = aten.add.Scalar(%53, 1e-05)
// %15: f32[8,1] = aten.rsqrt(%54)
// %16: f32[8,16] = aten.mul.Tensor(%50, %15)
// %55: f32[8,16] = aten.mul.Tensor(%16, %17)
// %19: f32[8,16] = aten.add.Tensor(%55, %18)
// %56: f32[8,1] = aten.sum.dim_IntList(%26)
// %57: f32[8,1] = aten.div.Scalar(%56, 16)
// %58: f32[8,16] = aten.sub.Tensor(%26, %57)
// %59: f32[8,16] = aten.mul.Tensor(%58, %58)
// %60: f32[8,1] = aten.sum.dim_IntList(%59)
// %61: f32[8,1] = aten.div.Scalar(%60, 16)
// %62: f32[8,1] = aten.add.Scalar(%61, 1e-05)
// %20: f32[8,1] = aten.rsqrt(%62)
// %21: f32[8,16] = aten.mul.Tensor(%58, %20)
// %63: f32[8,16] = aten.mul.Tensor(%21, %22)
// %24: f32[8,16] = aten.add.Tensor(%63, %23)
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
      const float v43 = v29 / v38;
      const float v47 = v30 / v38;
      float v42 = 0.0f;
      float v46 = 0.0f;
      float v50 = 0.0f;
#pragma omp simd reduction(+:v42) reduction(+:v46) reduction(+:v50)
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
        // aten.mul.Tensor -> f32[8,16]
        const float v41 = v40 * v40;
        // aten.sum.dim_IntList -> f32[8,1]
        v42 += v41;
        // aten.sub.Tensor -> f32[8,16]
        const float v44 = v35 - v43;
        // aten.mul.Tensor -> f32[8,16]
        const float v45 = v44 * v44;
        // aten.sum.dim_IntList -> f32[8,1]
        v46 += v45;
        // aten.sub.Tensor -> f32[8,16]
        const float v48 = v33 - v47;
        // aten.mul.Tensor -> f32[8,16]
        const float v49 = v48 * v48;
        // aten.sum.dim_IntList -> f32[8,1]
        v50 += v49;
      }
      const float v51 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v52 = v42 / v51;
      const float v53 = 1e-05f;
      // aten.add.Scalar -> f32[8,1]
      const float v54 = v52 + v53;
      // aten.rsqrt -> f32[8,1]
      const float v55 = ag_rsqrt_f32(v54);
      b13[i0] = v55;
      // aten.div.Scalar -> f32[8,1]
      const float v69 = v46 / v51;
      // aten.add.Scalar -> f32[8,1]
      const float v70 = v69 + v53;
      // aten.rsqrt -> f32[8,1]
      const float v71 = ag_rsqrt_f32(v70);
      b18[i0] = v71;
      // aten.div.Scalar -> f32[8,1]
      const float v78 = v50 / v51;
      // aten.add.Scalar -> f32[8,1]
      const float v79 = v78 + v53;
      // aten.rsqrt -> f32[8,1]
      const float v80 = ag_rsqrt_f32(v79);
      b23[i0] = v80;
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.add.Tensor -> f32[8,16]
        const float v56 = b6[i0 * 16 + i1];
        // aten.silu -> f32[8,16]
        const float v57 = b1[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v58 = v56 + v57;
        // aten.silu -> f32[8,16]
        const float v59 = b3[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v60 = v58 + v59;
        // aten.silu -> f32[8,16]
        const float v61 = b5[i1];
        // aten.add.Tensor -> f32[8,16]
        const float v62 = v60 + v61;
        // aten.sub.Tensor -> f32[8,16]
        const float v63 = v62 - v39;
        // aten.mul.Tensor -> f32[8,16]
        const float v64 = v63 * v55;
        b14[i0 * 16 + i1] = v64;
        const float v65 = b15[i1];
        const float v66 = v64 * v65;
        // aten.add.Tensor -> f32[8,16]
        const float v67 = b16[i1];
        const float v68 = v66 + v67;
        b17[i0 * 16 + i1] = v68;
        // aten.sub.Tensor -> f32[8,16]
        const float v72 = v60 - v43;
        // aten.mul.Tensor -> f32[8,16]
        const float v73 = v72 * v71;
        b19[i0 * 16 + i1] = v73;
        const float v74 = b20[i1];
        const float v75 = v73 * v74;
        // aten.add.Tensor -> f32[8,16]
        const float v76 = b21[i1];
        const float v77 = v75 + v76;
        b22[i0 * 16 + i1] = v77;
        // aten.sub.Tensor -> f32[8,16]
        const float v81 = v58 - v47;
        // aten.mul.Tensor -> f32[8,16]
        const float v82 = v81 * v80;
        b24[i0 * 16 + i1] = v82;
        const float v83 = b25[i1];
        const float v84 = v82 * v83;
        // aten.add.Tensor -> f32[8,16]
        const float v85 = b26[i1];
        const float v86 = v84 + v85;
        b27[i0 * 16 + i1] = v86;
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
// %8: f32[8,16] = aten.sub.Tensor(%0, %7)
// %9: f32[8,16] = aten.mul.Tensor(%8, %8)
// %10: f32[8,1] = aten.sum.dim_IntList(%9)
// %11: f32[8,1] = aten.div.Scalar(%10, 16)
// %12: f32[8,1] = aten.add.Scalar(%11, 1e-05)
// %13: f32[8,1] = aten.rsqrt(%12)
// %14: f32[8,16] = aten.mul.Tensor(%8, %13)
// %15: f32[8,16] = aten.mul.Tensor(%14, %1)
// %3: f32[8,16] = aten.add.Tensor(%15, %2)
// %16: f32[8,16] = aten.mul.Tensor(%4, %14)
// %5: f32[16] = aten.sum.dim_IntList(%16)
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
      float v7 = 0.0f;
#pragma omp simd reduction(+:v7)
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sub.Tensor -> f32[8,16]
        const float v2 = b0[i0 * 16 + i1];
        const float v5 = v2 - v4;
        // aten.mul.Tensor -> f32[8,16]
        const float v6 = v5 * v5;
        // aten.sum.dim_IntList -> f32[8,1]
        v7 += v6;
      }
      const float v10 = 16.0f;
      // aten.div.Scalar -> f32[8,1]
      const float v11 = v7 / v10;
      const float v12 = 1e-05f;
      // aten.add.Scalar -> f32[8,1]
      const float v13 = v11 + v12;
      // aten.rsqrt -> f32[8,1]
      const float v14 = ag_rsqrt_f32(v13);
#pragma omp simd
      for (int64_t i1 = 0; i1 < 16; ++i1) {
        // aten.sub.Tensor -> f32[8,16]
        const float v8 = b0[i0 * 16 + i1];
        const float v9 = v8 - v4;
        // aten.mul.Tensor -> f32[8,16]
        const float v15 = v9 * v14;
        const float v16 = b1[i1];
        const float v17 = v15 * v16;
        // aten.add.Tensor -> f32[8,16]
        const float v18 = b2[i1];
        const float v19 = v17 + v18;
        b3[i0 * 16 + i1] = v19;
        // aten.mul.Tensor -> f32[8,16]
        const float v20 = b4[i0 * 16 + i1];
        const float v21 = v20 * v15;
        // aten.sum.dim_IntList -> f32[16]
        acc0[i1] += v21;
      }
    }
  }
  return 0;
}

