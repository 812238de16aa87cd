#include "toolchain/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstdint>

namespace antegrad::toolchain {
namespace {

constexpr std::array kIsas = {Isa::Baseline, Isa::Avx2, Isa::Avx512};

#if defined(__x86_64__)

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// All zero for a leaf that the processor does not support.
Registers cpuid(uint32_t leaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

bool has(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

/// Returns which register files the operating system saves. Only valid when cpuid reports OSXSAVE.
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

Isa detect() {
  const auto basic = cpuid(1), extended = cpuid(7), amd = cpuid(0x80000001);
  constexpr uint32_t kBasic = bit_SSE3 | bit_SSSE3 | bit_FMA | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 |
                              bit_MOVBE | bit_POPCNT | bit_OSXSAVE | bit_AVX | bit_F16C;
  constexpr uint32_t kAmd = bit_LAHF_LM | bit_LZCNT;
  constexpr uint32_t kAvx2 = bit_BMI | bit_AVX2 | bit_BMI2;
  constexpr uint32_t kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512CD | bit_AVX512BW | bit_AVX512VL;
  constexpr uint64_t kYmmState = 0x06;  // xmm, upper halves of ymm
  constexpr uint64_t kZmmState = 0xe6;  // and mask registers, upper halves of zmm, zmm16-31
  if (!has(basic.ecx, kBasic) || !has(amd.ecx, kAmd) || !has(extended.ebx, kAvx2)) return Isa::Baseline;
  const auto state = saved_state();
  if ((state & kYmmState) != kYmmState) return Isa::Baseline;
  if (!has(extended.ebx, kAvx512) || (state & kZmmState) != kZmmState) return Isa::Avx2;
  return Isa::Avx512;
}

#else

Isa detect() { return Isa::Baseline; }

#endif

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::Baseline:
      return "baseline";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
  }
  return "baseline";
}

std::optional<Isa> isa_from_name(std::string_view name) {
  for (const auto isa : kIsas) {
    if (isa_name(isa) == name) return isa;
  }
  return std::nullopt;
}

Isa detect_isa() {
  static const Isa isa = detect();
  return isa;
}

std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (const auto isa : kIsas) {
    if (isa <= detect_isa()) isas.push_back(isa);
  }
  return isas;
}

std::string_view isa_cpu(Isa isa) {
  switch (isa) {
    case Isa::Baseline:
      return "x86-64";
    case Isa::Avx2:
      return "x86-64-v3";
    case Isa::Avx512:
      return "x86-64-v4";
  }
  return "x86-64";
}

std::string target_name(const CodeTarget& target) {
  if (const auto* arch = std::get_if<CudaArch>(&target)) return "sm_" + std::to_string(arch->capability);
  return std::string(isa_name(std::get<Isa>(target)));
}

}  // namespace antegrad::toolchain
