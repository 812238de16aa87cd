R"ag(
//@ ag_add_up_f64
// Adds x to a sum, and what rounding takes from it to rest.
AG_INLINE void ag_add_up_f64(double* sum, double* rest, double x) {
  const double total = *sum + x, added = total - *sum;
  *rest += (*sum - (total - added)) + (x - added);
  *sum = total;
}
//@ ag_whole_sum_f64
// rest is NaN where a sum is infinite.
AG_INLINE double ag_whole_sum_f64(double sum, double rest) { return rest == rest ? sum + rest : sum; }
)ag"
