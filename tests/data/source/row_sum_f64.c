int64_t row_sum_f64(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end) {
  const double* b0 = (const double*)buffers[0];
  double* b1 = (double*)buffers[1];
  for (int64_t i0 = begin; i0 < end; ++i0) {
    double total1 = 0.0;
    double rest1 = 0.0;
    for (int64_t t1 = 0; t1 < 5000; t1 += 4096) {
      const int64_t e1 = AG_MIN(t1 + 4096, 5000);
      double part1 = 0.0;
#pragma omp simd reduction(+:part1)
      for (int64_t i1 = t1; i1 < e1; ++i1) {
        const double v0 = b0[i0 * 5000 + i1];
        part1 += v0;
      }
      ag_add_up_f64(&total1, &rest1, part1);
    }
    const double v1 = (double)ag_whole_sum_f64(total1, rest1);
    b1[i0] = v1;
  }
  return 0;
}
