#pragma once
// Runs generated CUDA text on a CPU: what prelude/device.h defines for NVRTC, by other means. Blocks run one
// after the other, in random order. The threads of a block are fibers that switch at barriers and shuffles,
// in random order, so that a missing barrier shows. Only generated code includes this.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define _Bool bool
#define restrict __restrict__
#define AG_BEGIN_C extern "C" {
#define AG_END_C }
#define AG_KERNEL(...) static void
#define AG_PARAMETER const
#define AG_THREAD (ag_shim.thread)
#define AG_BLOCK ((int)ag_shim.block)
#define AG_SHARED(name) unsigned char* name = ag_shim.shared + 64
#define AG_SYNC() ag_shim_wait(ag_shim.all)
#define AG_SYNC_GROUP(barrier, threads) ag_shim_wait(ag_shim_group(barrier, threads))
#define AG_SYNC_WARP() ag_shim_wait(ag_shim.warps[AG_THREAD / 32])
#define AG_SYNC_ROW(row, threads) AG_SYNC_GROUP((row) + 1, threads)
#define AG_SHFL_XOR(x, mask) ag_shim_shuffle(x, mask)
#define AG_ATOMIC_ADD(at, x) (*(at) += (x))
#define AG_CAS(at, old, now) ag_shim_cas(at, old, now)

// What CUDA's library has without a declaration.
extern "C" {
double exp(double);
float expf(float);
double exp2(double);
float exp2f(float);
double expm1(double);
float expm1f(float);
double log(double);
float logf(float);
double log1p(double);
float log1pf(float);
double log2(double);
float log2f(float);
double log10(double);
float log10f(float);
double tanh(double);
float tanhf(float);
double sinh(double);
float sinhf(float);
double cosh(double);
float coshf(float);
double asinh(double);
float asinhf(float);
double acosh(double);
float acoshf(float);
double atanh(double);
float atanhf(float);
double sin(double);
float sinf(float);
double cos(double);
float cosf(float);
double tan(double);
float tanf(float);
double asin(double);
float asinf(float);
double acos(double);
float acosf(float);
double atan(double);
float atanf(float);
double erf(double);
float erff(float);
double erfc(double);
float erfcf(float);
double floor(double);
float floorf(float);
double ceil(double);
float ceilf(float);
double trunc(double);
float truncf(float);
double rint(double);
float rintf(float);
}
extern "C" {
double pow(double, double);
float powf(float, float);
double atan2(double, double);
float atan2f(float, float);
double hypot(double, double);
float hypotf(float, float);
}
inline float rsqrtf(float x) { return (float)(1 / __builtin_sqrt((double)x)); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float ag_shim_from_f16(uint16_t bits) {
  _Float16 half;
  memcpy(&half, &bits, sizeof half);
  return (float)half;
}
inline uint16_t ag_shim_to_f16(float x) {
  const _Float16 half = (_Float16)x;
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}
#define AG_RECIPROCAL(x) (1.0f / (x))
#define AG_EXP2(x) exp2f(x)
#define AG_MULTIPLY_DOWN(a, b) ag_shim_multiply_down(a, b)
#define AG_SATURATED_FMA(a, b, c) ag_shim_saturated(__builtin_fmaf(a, b, c))
#define AG_MULTIPLY_WIDE(low, high, a, b) \
  ((low) = (uint32_t)((uint64_t)(a) * (b)), (high) = (uint32_t)((uint64_t)(a) * (b) >> 32))
inline float ag_shim_multiply_down(float a, float b) {
  const double product = (double)a * (double)b;
  const float nearest = (float)product;
  return (double)nearest > product ? __builtin_nextafterf(nearest, -__builtin_inff()) : nearest;
}
inline float ag_shim_saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
#define AG_F16_TO_F32(x) ag_shim_from_f16(x)
#define AG_F32_TO_F16(x) ag_shim_to_f16(x)

inline uint64_t __umul64hi(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }

constexpr int kShimThreads = 1024, kShimStack = 64 << 10, kShimShared = 256 << 10;

struct ShimBarrier {
  int size, arrived;
  unsigned generation;
};
struct ShimFiber {
  void* stack_pointer;
#if !defined(__x86_64__)
  ucontext_t context;
#endif
  ShimBarrier* waits;  // null if it can run
  unsigned generation;
  bool done;
};
static struct Shim {
  int thread, threads;
  long long block;
  unsigned char* shared;
  unsigned char* stacks;
  ShimBarrier all, warps[kShimThreads / 32], groups[16];
  ShimFiber fibers[kShimThreads], scheduler;
  uint64_t slots[kShimThreads];
  uint64_t random;
  void (*run)(void*);
  void* argument;
} ag_shim;

inline unsigned ag_shim_below(unsigned limit) {
  ag_shim.random = ag_shim.random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((ag_shim.random >> 33) % limit);
}

#if defined(__x86_64__)
extern "C" void ag_shim_switch(void** from, void* to);
asm(R"(
.text
.local ag_shim_switch
.type ag_shim_switch, @function
ag_shim_switch:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
.size ag_shim_switch, .-ag_shim_switch
)");
inline void ag_shim_swap(ShimFiber& from, ShimFiber& to) {
  ag_shim_switch(&from.stack_pointer, to.stack_pointer);
}
#else
inline void ag_shim_swap(ShimFiber& from, ShimFiber& to) { swapcontext(&from.context, &to.context); }
#endif

inline void ag_shim_yield() { ag_shim_swap(ag_shim.fibers[ag_shim.thread], ag_shim.scheduler); }

static void ag_shim_fiber() {
  ag_shim.run(ag_shim.argument);
  ag_shim.fibers[ag_shim.thread].done = true;
  ag_shim_yield();
}

inline void ag_shim_wait(ShimBarrier& barrier) {
  if (++barrier.arrived == barrier.size) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  auto& fiber = ag_shim.fibers[ag_shim.thread];
  fiber.waits = &barrier;
  fiber.generation = barrier.generation;
  ag_shim_yield();
  fiber.waits = nullptr;
}

inline ShimBarrier& ag_shim_group(int barrier, int threads) {
  if (barrier >= 16) abort();  // the device has no more
  ag_shim.groups[barrier].size = threads;
  return ag_shim.groups[barrier];
}

template <class T>
T ag_shim_shuffle(T x, int mask) {
  memcpy(&ag_shim.slots[AG_THREAD], &x, sizeof x);
  AG_SYNC_WARP();
  T other;
  memcpy(&other, &ag_shim.slots[AG_THREAD ^ mask], sizeof other);
  AG_SYNC_WARP();
  return other;
}

template <class T>
T ag_shim_cas(T* at, T old, T now) {
  const T seen = *at;
  if (seen == old) *at = now;
  return seen;
}

static void ag_shim_start(int thread) {
  auto& fiber = ag_shim.fibers[thread];
  auto* stack = ag_shim.stacks + (size_t)thread * kShimStack;
  fiber.waits = nullptr;
  fiber.done = false;
#if defined(__x86_64__)
  auto** top = (void**)(stack + kShimStack - 64);  // a multiple of 16, as before a call
  *--top = nullptr;
  *--top = (void*)&ag_shim_fiber;
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  fiber.stack_pointer = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = kShimStack;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, ag_shim_fiber, 0);
#endif
}

/// Runs a block. Returns what is wrong with it, or null.
static const char* ag_shim_block(bool switches) {
  const int threads = ag_shim.threads;
  if (!switches) {
    for (ag_shim.thread = 0; ag_shim.thread < threads; ++ag_shim.thread) ag_shim.run(ag_shim.argument);
    return nullptr;
  }
  ag_shim.all = {threads, 0, 0};
  for (int warp = 0; warp < threads / 32; ++warp) ag_shim.warps[warp] = {32, 0, 0};
  for (auto& group : ag_shim.groups) group = {0, 0, 0};
  int order[kShimThreads];
  for (int i = 0; i < threads; ++i) {
    order[i] = i;
    ag_shim_start(i);
  }
  for (int left = threads; left > 0;) {
    for (int i = threads - 1; i > 0; --i) {
      const int other = (int)ag_shim_below((unsigned)i + 1), saved = order[i];
      order[i] = order[other];
      order[other] = saved;
    }
    bool moved = false;
    for (int i = 0; i < threads; ++i) {
      auto& fiber = ag_shim.fibers[order[i]];
      if (fiber.done || (fiber.waits != nullptr && fiber.waits->generation == fiber.generation)) continue;
      moved = true;
      ag_shim.thread = order[i];
      ag_shim_swap(ag_shim.scheduler, fiber);
      left -= fiber.done ? 1 : 0;
    }
    if (!moved) return "threads wait at different barriers";
  }
  return nullptr;
}

/// Runs all blocks. `switches` says whether the kernel has barriers or shuffles. Returns what is wrong with
/// the kernel, or null.
template <class Run>
const char* ag_shim_launch(long long blocks, int threads, long long shared, unsigned seed, bool switches,
                           Run run) {
  if (ag_shim.stacks == nullptr) ag_shim.stacks = (unsigned char*)malloc((size_t)kShimThreads * kShimStack);
  if (ag_shim.shared == nullptr) ag_shim.shared = (unsigned char*)aligned_alloc(64, kShimShared);
  ag_shim.threads = threads;
  ag_shim.random = seed;
  ag_shim.argument = &run;
  ag_shim.run = [](void* argument) { (*(Run*)argument)(); };
  const long long first = blocks == 0 ? 0 : (long long)ag_shim_below((unsigned)blocks);
  for (long long i = 0; i < blocks; ++i) {
    ag_shim.block = (first + i) % blocks;
    memset(ag_shim.shared, 0xee, (size_t)shared + 128);
    const char* problem = ag_shim_block(switches);
    for (int at = 0; at < 64; ++at)
      if (ag_shim.shared[at] != 0xee || ag_shim.shared[64 + shared + at] != 0xee)
        problem = "writes outside of shared memory";
    if (problem != nullptr) return problem;
  }
  return nullptr;
}
