#include "codegen/cpu/kernel_source.h"

#include <algorithm>

#include "codegen/cpu/kernel_printer.h"
#include "codegen/text/prelude.h"

namespace antegrad::codegen::cpu {
namespace {

constexpr std::string_view kMacros =
    R"(#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
#define AG_MIN(a, b) ((a) < (b) ? (a) : (b))
#define AG_MAX(a, b) ((a) > (b) ? (a) : (b))
#define AG_NAN_MIN(a, b) ((((b) < (a)) | ((b) != (b))) ? (b) : (a))
#define AG_NAN_MAX(a, b) ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
)";

/// An index out of range is replaced by 0, so that nothing outside the buffer is accessed.
constexpr std::string_view kIndexing =
    R"(AG_INLINE int64_t ag_outside(int64_t index, int64_t size, int wraps) {
  const int64_t at = wraps && index < 0 ? index + size : index;
  return (uint64_t)at >= (uint64_t)size;
}
AG_INLINE int64_t ag_position(int64_t index, int64_t size, int wraps) {
  const int64_t at = wraps && index < 0 ? index + size : index;
  return (uint64_t)at >= (uint64_t)size ? 0 : at;
}
)";

}  // namespace

std::string kernel_source(const schedule::Kernel& kernel) { return print_kernel(kernel).text; }

std::string unit_source(const std::vector<const schedule::Kernel*>& kernels) {
  std::set<std::string> functions{"AG_INLINE"};
  std::string text;
  bool checks_indices = false;
  for (const auto* kernel : kernels) {
    const auto printed = print_kernel(*kernel);
    functions.insert(printed.functions.begin(), printed.functions.end());
    checks_indices = checks_indices || printed.checks_indices;
    text += "\n" + printed.text;
  }
  auto out = prelude_for({functions.begin(), functions.end()});
  out += kMacros;
  if (checks_indices) out += kIndexing;
  return out + text;
}

}  // namespace antegrad::codegen::cpu
