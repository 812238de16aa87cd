#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace antegrad::toolchain {

/// The instruction sets that code is generated for, each a superset of the previous one. Part of the cache
/// keys of compiled code.
enum class Isa {
  Baseline,  ///< x86-64: SSE2
  Avx2,      ///< x86-64-v3: AVX2, FMA, F16C, BMI
  Avx512,    ///< x86-64-v4: AVX-512 F, CD, BW, DQ, VL
};

/// Returns "baseline", "avx2" or "avx512".
std::string_view isa_name(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

/// Returns the largest instruction set that this processor and its operating system support.
Isa detect_isa();

/// Returns all instruction sets that this machine supports, smallest first.
std::vector<Isa> runnable_isas();

/// Returns the compilers' name for it, such as "x86-64-v3".
std::string_view isa_cpu(Isa isa);

/// An architecture of CUDA devices.
struct CudaArch {
  int32_t capability = 90;  ///< major * 10 + minor
};
/// What machine code is made for.
using CodeTarget = std::variant<Isa, CudaArch>;
/// Returns isa_name(), or "sm_90". Part of the cache keys of compiled code.
std::string target_name(const CodeTarget& target);

}  // namespace antegrad::toolchain
