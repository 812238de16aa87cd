R"ag(
#define _Bool bool
#define __INT8_TYPE__ signed char
#define __UINT8_TYPE__ unsigned char
#define __INT16_TYPE__ short
#define __UINT16_TYPE__ unsigned short
#define __INT32_TYPE__ int
#define __UINT32_TYPE__ unsigned int
#define __INT64_TYPE__ long long
#define __UINT64_TYPE__ unsigned long long
#define __FLT_EPSILON__ 0x1p-23f
#define __DBL_EPSILON__ 0x1p-52
#define __FMA__ 1
#define __builtin_memcpy memcpy
#define __builtin_fabsf(a) fabsf((float)(a))
#define __builtin_fabs(a) fabs((double)(a))
#define __builtin_sqrtf __fsqrt_rn
#define __builtin_sqrt __dsqrt_rn
#define __builtin_copysignf(a, b) copysignf((float)(a), (float)(b))
#define __builtin_copysign(a, b) copysign((double)(a), (double)(b))
#define __builtin_fmaf __fmaf_rn
#define __builtin_fma __fma_rn
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000ll)
#define restrict __restrict__
#define AG_BEGIN_C
#define AG_END_C
#define AG_KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define AG_PARAMETER const __grid_constant__
#define AG_THREAD ((int)threadIdx.x)
#define AG_BLOCK ((int)blockIdx.x)
#define AG_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define AG_SYNC() __syncthreads()
#define AG_SYNC_GROUP(barrier, threads) asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(threads) : "memory")
#define AG_SYNC_WARP() __syncwarp()
#define AG_SYNC_ROW(row, threads) AG_SYNC_GROUP((row) + 1, threads)
#define AG_SHFL_XOR(x, mask) __shfl_xor_sync(0xffffffffu, x, mask)
#define AG_ATOMIC_ADD(at, x) atomicAdd(at, x)
#define AG_CAS(at, old, now) atomicCAS(at, old, now)
// Approximations of the device, which take subnormal numbers for 0.
#define AG_RECIPROCAL(x) ag_reciprocal(x)
#define AG_EXP2(x) ag_fast_exp2(x)
#define AG_MULTIPLY_DOWN(a, b) __fmul_rd(a, b)
#define AG_SATURATED_FMA(a, b, c) ag_saturated_fma(a, b, c)
#define AG_MULTIPLY_WIDE(low, high, a, b) \
  asm("{.reg .b64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t;}" : "=r"(low), "=r"(high) : "r"(a), "r"(b))
static inline float ag_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
static inline float ag_fast_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
static inline float ag_saturated_fma(float a, float b, float c) {
  float result;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}
)ag"
