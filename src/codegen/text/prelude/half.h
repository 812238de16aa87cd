R"ag(
// Numbers of 16 bits, rounded to nearest, ties to even.
//@ ag_bf16_to_f32
AG_INLINE float ag_bf16_to_f32(uint16_t x) { return ag_from_bits_f32((uint32_t)x << 16); }

//@ ag_f32_to_bf16
AG_INLINE uint16_t ag_f32_to_bf16(float x) {
  const uint32_t bits = ag_bits_f32(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (uint16_t)(x != x ? 0x7fc0u : rounded);
}

//@ ag_f16_to_f32
AG_INLINE float ag_f16_to_f32(uint16_t x) {
  const uint32_t magnitude = (uint32_t)(x & 0x7fffu) << 13;
  const uint32_t normal = magnitude + (112u << 23);
  const uint32_t infinite = magnitude + (224u << 23);
  const uint32_t subnormal = ag_bits_f32(ag_from_bits_f32(magnitude + (113u << 23)) - 0x1p-14f);
  const uint32_t bits = magnitude < (1u << 23) ? subnormal : magnitude < (31u << 23) ? normal : infinite;
  return ag_from_bits_f32(bits | (uint32_t)(x & 0x8000u) << 16);
}

//@ ag_f32_to_f16
AG_INLINE uint16_t ag_f32_to_f16(float x) {
  const uint32_t bits = ag_bits_f32(x);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // The last bit of 0.5 is worth as much as that of a subnormal result, so that the sum rounds as it should.
  const uint32_t subnormal = ag_bits_f32(ag_from_bits_f32(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
  const uint32_t result = magnitude > 0x7f800000u ? 0x7e00u : magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return (uint16_t)(result | (bits >> 16 & 0x8000u));
}
)ag"
