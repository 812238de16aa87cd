R"ag(
struct AgNorm {
  double value;
  int bad;
};
AG_INLINE double ag_combined(double a, double b, bool is_max) { return is_max ? AG_NAN_MAX(a, b) : a + b; }

// What all threads of a block have, combined in the first of them.
AG_INLINE AgNorm ag_block_norm(AgNorm own, unsigned char* shared, bool is_max) {
  AG_UNROLL
  for (int mask = 16; mask > 0; mask /= 2) {
    own.value = ag_combined(own.value, AG_SHFL_XOR(own.value, mask), is_max);
    own.bad |= AG_SHFL_XOR(own.bad, mask);
  }
  double* values = (double*)shared;
  int* bad = (int*)(shared + AG_THREADS / 32 * sizeof(double));
  if (AG_THREAD % 32 == 0) {
    values[AG_THREAD / 32] = own.value;
    bad[AG_THREAD / 32] = own.bad;
  }
  AG_SYNC();
  for (int warp = 1; warp < AG_THREADS / 32; ++warp) {
    own.value = ag_combined(own.value, values[warp], is_max);
    own.bad |= bad[warp];
  }
  return own;
}
)ag"
