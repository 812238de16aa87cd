#include "toolchain/runtime_symbols.h"

#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

namespace antegrad::toolchain {
namespace {

using Table = std::unordered_map<std::string_view, const void*>;
using Unary = double (*)(double);
using UnaryF = float (*)(float);
using Binary = double (*)(double, double);
using BinaryF = float (*)(float, float);

template <class Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// The casts select overloads. UNARY and BINARY give the double and the float function: exp and expf.
#define ANTEGRAD_ROW(Type, name) \
  { #name, address(static_cast <Type>(&::name)) }
#define ANTEGRAD_UNARY(name) ANTEGRAD_ROW(Unary, name), ANTEGRAD_ROW(UnaryF, name##f)
#define ANTEGRAD_BINARY(name) ANTEGRAD_ROW(Binary, name), ANTEGRAD_ROW(BinaryF, name##f)

// Compilers turn copying and filling loops into the memory functions; the rest are math functions that the
// prelude leaves to libm.
Table make_table() {
  return {
      {"memcpy", address(static_cast<void* (*)(void*, const void*, size_t)>(&::memcpy))},
      {"memmove", address(static_cast<void* (*)(void*, const void*, size_t)>(&::memmove))},
      {"memset", address(static_cast<void* (*)(void*, int, size_t)>(&::memset))},
      {"memcmp", address(static_cast<int (*)(const void*, const void*, size_t)>(&::memcmp))},
      {"ldexp", address(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", address(static_cast<float (*)(float, int)>(&::ldexpf))},
      {"frexp", address(static_cast<double (*)(double, int*)>(&::frexp))},
      {"frexpf", address(static_cast<float (*)(float, int*)>(&::frexpf))},
      {"sincos", address(static_cast<void (*)(double, double*, double*)>(&::sincos))},
      {"sincosf", address(static_cast<void (*)(float, float*, float*)>(&::sincosf))},
      {"fma", address(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", address(static_cast<float (*)(float, float, float)>(&::fmaf))},
      ANTEGRAD_UNARY(exp),
      ANTEGRAD_UNARY(exp2),
      ANTEGRAD_UNARY(expm1),
      ANTEGRAD_UNARY(log),
      ANTEGRAD_UNARY(log2),
      ANTEGRAD_UNARY(log10),
      ANTEGRAD_UNARY(log1p),
      ANTEGRAD_UNARY(sin),
      ANTEGRAD_UNARY(cos),
      ANTEGRAD_UNARY(tan),
      ANTEGRAD_UNARY(asin),
      ANTEGRAD_UNARY(acos),
      ANTEGRAD_UNARY(atan),
      ANTEGRAD_UNARY(sinh),
      ANTEGRAD_UNARY(cosh),
      ANTEGRAD_UNARY(tanh),
      ANTEGRAD_UNARY(asinh),
      ANTEGRAD_UNARY(acosh),
      ANTEGRAD_UNARY(atanh),
      ANTEGRAD_UNARY(erf),
      ANTEGRAD_UNARY(erfc),
      ANTEGRAD_UNARY(lgamma),
      ANTEGRAD_UNARY(tgamma),
      ANTEGRAD_UNARY(sqrt),
      ANTEGRAD_UNARY(cbrt),
      ANTEGRAD_UNARY(floor),
      ANTEGRAD_UNARY(ceil),
      ANTEGRAD_UNARY(trunc),
      ANTEGRAD_UNARY(round),
      ANTEGRAD_UNARY(rint),
      ANTEGRAD_UNARY(nearbyint),
      ANTEGRAD_UNARY(roundeven),
      ANTEGRAD_UNARY(fabs),
      ANTEGRAD_BINARY(pow),
      ANTEGRAD_BINARY(fmod),
      ANTEGRAD_BINARY(remainder),
      ANTEGRAD_BINARY(atan2),
      ANTEGRAD_BINARY(hypot),
      ANTEGRAD_BINARY(fmin),
      ANTEGRAD_BINARY(fmax),
      ANTEGRAD_BINARY(fdim),
      ANTEGRAD_BINARY(copysign),
      ANTEGRAD_BINARY(nextafter),
  };
}

#undef ANTEGRAD_ROW
#undef ANTEGRAD_UNARY
#undef ANTEGRAD_BINARY

}  // namespace

const void* runtime_symbol(std::string_view name) {
  static const auto& table = *new const Table(make_table());
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace antegrad::toolchain
