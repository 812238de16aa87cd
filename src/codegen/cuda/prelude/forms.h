R"ag(
// Functions of the prelude for which CUDA has better means.
//@ ag_below_64
AG_INLINE uint64_t ag_below_64(uint64_t bits, uint64_t range) { return range == 0 ? bits : __umul64hi(bits, range); }
)ag"
