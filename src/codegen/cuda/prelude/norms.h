R"ag(
AG_NORM(AG_PARAMETER AgTable table, int rows, int tiles, double* partials, double power) {
  AG_SHARED(ag_shared);
  const int entry = ag_row(table, rows, 3) * 3;
  const AgMemory* from = (const AgMemory*)table.words[entry];
  const int64_t elements = (int64_t)table.words[entry + 1];
  const int32_t first = (int32_t)(uint32_t)table.words[entry + 2];
  const int64_t tile = AG_THREADS * AG_VECTOR * AG_UNROLLED;
  int64_t at = (int64_t)(AG_BLOCK - first) * tiles * tile + AG_THREAD * AG_VECTOR;
  AgNorm own = {0.0, 0};
  for (int k = 0; k < tiles && at < elements; ++k, at += tile) {
    AgMemory x[AG_UNROLLED][AG_VECTOR];
    AG_UNROLL
    for (int u = 0; u < AG_UNROLLED; ++u) {
      const int64_t e = at + u * (AG_THREADS * AG_VECTOR);
      if (e + AG_VECTOR <= elements) ag_load<AG_VECTOR>(x[u], from + e);
    }
    AG_UNROLL
    for (int u = 0; u < AG_UNROLLED; ++u) {
      const int64_t e = at + u * (AG_THREADS * AG_VECTOR);
      AgWide part = 0;
      if (e + AG_VECTOR <= elements) {
        AG_UNROLL
        for (int v = 0; v < AG_VECTOR; ++v) ag_add(part, own.bad, x[u][v], power);
      } else {
        for (int64_t i = e; i < elements; ++i) ag_add(part, own.bad, from[i], power);
      }
      own.value = ag_combined(own.value, (double)part, AG_IS_MAX);
    }
  }
  own = ag_block_norm(own, ag_shared, AG_IS_MAX);
  if (AG_THREAD == 0) {
    partials[2 * (int64_t)AG_BLOCK] = own.value;
    partials[2 * (int64_t)AG_BLOCK + 1] = own.bad;
  }
}
)ag"
