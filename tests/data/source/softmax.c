int64_t softmax(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const float* b0 = (const float*)buffers[0];
  float* b1 = (float*)buffers[1];
  _Alignas(64) float b2[1000];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    int32_t order1 = ag_order_max_f32(-__builtin_inff());
#pragma omp simd reduction(max:order1)
    for (int64_t i1 = 0; i1 < 1000; ++i1) {
      // %1 = amax(%0, [1])
      const float v0 = b0[i0 * 1000 + i1];
      order1 = AG_MAX(order1, ag_order_max_f32(v0));
    }
    const float v1 = (float)ag_from_order_f32(order1);
    float v4 = 0.0f;
#pragma omp simd reduction(+:v4)
    for (int64_t i2 = 0; i2 < 1000; ++i2) {
      // %2 = exp(sub(%0, %1))
      const float v2 = b0[i0 * 1000 + i2];
      const float v3 = ag_exp_f32(v2 - v1);
      b2[i2] = v3;
      // %3 = sum(%2, [1])
      v4 += v3;
    }
#pragma omp simd
    for (int64_t i3 = 0; i3 < 1000; ++i3) {
      // %4 = div(%2, %3)
      const float v5 = b2[i3];
      const float v6 = v5 / v4;
      b1[i0 * 1000 + i3] = v6;
    }
  }
  return 0;
}
